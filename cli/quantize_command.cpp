#include <fmt/format.h>

#include "cli/emit_report.h"
#include "cli/single_run.h"
#include "cli/tensor_command.h"
#include "cli/tensor_io.h"
#include "host/tensor_file.h"
#include "kernels/single/quantize_ref.h"
#include "kernels/single/single.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"
#include "workloads/checksum.h"

namespace bwmm::cli {

bool RunQuantize(const QuantizeCommand& command) {
  const DType source = DTypeOf("--dtype", command.dtype, {DType::kBf16, DType::kFp16});
  const DType target =
      DTypeOf("--target", command.target, {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4});
  if (command.rule != "x2" && command.rule != "ocp")
    throw SimError("--rule {}: allowed x2, ocp", command.rule);
  CheckSize("--partitions", command.partitions, kQuadrantPartitions, kTilePartitions);
  CheckSize("--columns", command.columns, 4, 16384);
  CheckMachineSettings(command.common);
  CheckOptions(command.common, {{"--output", command.output}, {"--scales", command.scales}},
               {TensorFile("--input", command.input)});
  const bool with_data = FidelityOf(command.common) != Fidelity::kTiming;
  const std::int64_t p = command.partitions, columns = command.columns / kMxGroup.lanes;
  const host::HostTensor input =
      TensorFrom("source", command.input, source, {p, 4 * columns}, command.common.seed);
  ops::Hbm hbm;
  const kernels::QuantizeArgs args{
      .source = PlaceInput(hbm, input, with_data),
      .words = PlaceOutput(hbm, "words", target, {p, columns}, with_data),
      .scales = PlaceOutput(hbm, "scales", DType::kE8M0, {p / kMxGroup.rows, columns}, with_data),
      .rule = command.rule == "x2" ? ScaleRule::kX2 : ScaleRule::kOcp};
  workloads::RunReport report =
      RunSingle(command.common, "quantize", hbm,
                [&args](isa::Sink& sink) { kernels::SingleQuantize(sink, args); });
  report.facts = {{"quantize", fmt::format("[{}, {}] {} to {}, rule {}", p, 4 * columns,
                                           command.dtype, command.target, command.rule)}};
  if (with_data) {
    const host::HostTensor words = Fetch(hbm, "words");
    const host::HostTensor scales = Fetch(hbm, "scales");
    std::vector<std::byte> both = words.data;
    both.insert(both.end(), scales.data.begin(), scales.data.end());
    report.checksum = workloads::Checksum(both);
    report.error = ErrorOf(reference::JudgeQuantize({.element = ElementOf(target),
                                                     .ocp_rule = args.rule == ScaleRule::kOcp,
                                                     .source = ValuesOf(input),
                                                     .partitions = command.partitions,
                                                     .columns = static_cast<int>(columns)},
                                                    CodesOf(words), ScaleCodesOf(scales)));
    if (!command.output.empty())
      host::SaveTensor(command.output, words);
    if (!command.scales.empty())
      host::SaveTensor(command.scales, scales);
  }
  return EmitReport(command.common, report);
}

}  // namespace bwmm::cli
