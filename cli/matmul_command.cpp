#include <fmt/format.h>

#include "cli/emit_report.h"
#include "cli/matmul_operand.h"
#include "cli/single_run.h"
#include "cli/tensor_command.h"
#include "cli/tensor_io.h"
#include "host/tensor_file.h"
#include "kernels/single/matmul_ref.h"
#include "kernels/single/single.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"
#include "workloads/checksum.h"

namespace bwmm::cli {
namespace {

// Passes through the PE array; SBUF, which holds all of them, sets a lower limit for wide ones.
constexpr int kMaxPasses = 32;

DType OperandType(std::string_view option, const std::string& own, const std::string& both) {
  return DTypeOf(own.empty() ? "--dtype" : option, own.empty() ? both : own,
                 {DType::kBf16, DType::kFp16, DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2,
                  DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4});
}

reference::Judgement Judge(const MatmulCommand& command, const MatmulOperand& stationary,
                           const MatmulOperand& moving, bool mx, ops::Hbm& hbm) {
  for (const MatmulOperand* operand : {&stationary, &moving}) {
    const auto judged = operand->JudgeOnline(hbm);
    if (judged && !judged->pass)
      return *judged;
  }
  const host::HostTensor result = Fetch(hbm, "out");
  const bool bf16 = result.dtype == DType::kBf16;
  std::vector<double> out;
  if (bf16) {
    out = ValuesOf(result);
  } else {
    const auto words = result.words<float>();
    out.assign(words.begin(), words.end());
  }
  return reference::JudgeMatmul({.stationary = stationary.Values(hbm),
                                 .moving = moving.Values(hbm),
                                 .k = command.k,
                                 .m = command.m,
                                 .n = command.n,
                                 .pass_rows = mx ? 512 : 128,
                                 .group_rows = mx ? 32 : 1,
                                 .bf16_psum = bf16},
                                out);
}

}  // namespace

bool RunMatmul(const MatmulCommand& command) {
  const DType left = OperandType("--stationary-dtype", command.stationary_dtype, command.dtype);
  const DType right = OperandType("--moving-dtype", command.moving_dtype, command.dtype);
  const DType psum = DTypeOf("--psum-dtype", command.psum_dtype, {DType::kFp32, DType::kBf16});
  const bool mx = IsX4(left);
  if (IsX4(right) != mx)
    throw SimError("--moving-dtype: {}, allowed {} beside {}", NameOf(right),
                   mx ? "x4 types" : "types that are not x4", NameOf(left));
  CheckSize("--k", command.k, mx ? kQuadrantPartitions * kMxGroup.lanes : 1,
            kMaxPasses * (mx ? kMxGroup.tile_elements() : kTilePartitions));
  CheckSize("--m", command.m, mx ? 2 : 1, 128);
  CheckSize("--n", command.n, 1, 4096);
  CheckMachineSettings(command.common);
  CheckOptions(
      command.common, {{"--output", command.output}},
      {TensorFile("--stationary", command.stationary), TensorFile("--moving", command.moving),
       TensorFile("--stationary-scales", command.stationary_scales),
       TensorFile("--moving-scales", command.moving_scales)});
  const bool with_data = FidelityOf(command.common) != Fidelity::kTiming;
  const MatmulOperand stationary({.name = "stationary",
                                  .dtype = left,
                                  .tensor = command.stationary,
                                  .scales = command.stationary_scales,
                                  .k = command.k,
                                  .columns = command.m,
                                  .seed = command.common.seed});
  const MatmulOperand moving({.name = "moving",
                              .dtype = right,
                              .tensor = command.moving,
                              .scales = command.moving_scales,
                              .k = command.k,
                              .columns = command.n,
                              .seed = command.common.seed});
  ops::Hbm hbm;
  kernels::MatmulArgs args;
  args.stationary = stationary.Place(hbm, with_data);
  args.moving = moving.Place(hbm, with_data);
  args.out = PlaceOutput(hbm, "out", psum, {command.m, command.n}, with_data);
  workloads::RunReport report = RunSingle(command.common, "matmul", hbm, [&args](isa::Sink& sink) {
    kernels::SingleMatmul(sink, args);
  });
  const std::string types = left == right ? std::string(NameOf(left))
                                          : fmt::format("{} x {}", NameOf(left), NameOf(right));
  report.facts = {
      {"matmul", fmt::format("[{}, {}]^T x [{}, {}], {}{}", command.k, command.m, command.k,
                             command.n, types, psum == DType::kBf16 ? ", PSUM bfloat16" : "")}};
  if (with_data) {
    const host::HostTensor result = Fetch(hbm, "out");
    report.checksum = workloads::Checksum(result.data);
    report.error = ErrorOf(Judge(command, stationary, moving, mx, hbm));
    if (!command.output.empty())
      host::SaveTensor(command.output, result);
  }
  return EmitReport(command.common, report);
}

}  // namespace bwmm::cli
