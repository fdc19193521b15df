#include "model/app/tensor_command.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "kernels/inputs/tensor_file.h"
#include "kernels/single/single.h"
#include "kernels/single/single_ref.h"
#include "model/app/checksum.h"
#include "model/app/emit_report.h"
#include "model/app/run_report.h"
#include "model/app/tensor_io.h"
#include "model/support/sim_error.h"

namespace bwmm::app {
namespace {

using reference::Element;

void CheckSize(std::string_view name, int value, int step, int max) {
  if (value < step || value > max || value % step != 0) {
    throw SimError("{}: {}, allowed {} to {}{}", name, value, step, max,
                   step == 1 ? "" : fmt::format(" in steps of {}", step));
  }
}

DType DTypeOf(const std::string& text, std::initializer_list<DType> allowed) {
  std::string names;
  for (const DType type : allowed) {
    if (NameOf(type) == text)
      return type;
    names.append(names.empty() ? "" : ", ").append(NameOf(type));
  }
  throw SimError("dtype: {}, allowed {}", text, names);
}

Element ElementOf(DType type) {
  switch (type) {
    case DType::kFp16:
      return Element::kFp16;
    case DType::kFp8E4M3Fn:
    case DType::kFp8E4M3FnX4:
      return Element::kE4M3Fn;
    case DType::kFp8E4M3:
      return Element::kE4M3;
    case DType::kFp8E5M2:
    case DType::kFp8E5M2X4:
      return Element::kE5M2;
    default:
      return Element::kBf16;
  }
}

std::vector<double> Values(const inputs::HostTensor& tensor) {
  std::vector<std::uint32_t> codes(tensor.elements());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = SizeOf(tensor.dtype) == 2 ? tensor.words<std::uint16_t>()[i]
                                         : tensor.words<std::uint8_t>()[i];
  }
  return reference::Decode(ElementOf(tensor.dtype), codes);
}

std::vector<double> MxValues(ops::Hbm& hbm, const std::string& name) {
  const inputs::HostTensor words = Fetch(hbm, name + "_words");
  const inputs::HostTensor scales = Fetch(hbm, name + "_scales");
  return reference::DecodeMx(ElementOf(words.dtype), words.words<std::uint32_t>().data(),
                             scales.words<std::uint8_t>().data(), static_cast<int>(words.shape[0]),
                             static_cast<int>(words.shape[1]));
}

ErrorReport ErrorOf(const reference::Judgement& judged) {
  return {.max_row_rel = judged.max_rel,
          .max_ulp_bf16 = judged.max_ulp,
          .max_bound_ratio = judged.max_bound_ratio,
          .compared = judged.count,
          .pass = judged.pass};
}

RunReport Run(const CommonOptions& common, std::string command, ops::Hbm& hbm,
              const ops::Program& program) {
  RunReport report;
  report.command = std::move(command);
  report.fidelity = FidelityOf(common);
  report.machine = MachineOf(common);
  report.checked = !common.unchecked;
  AddProvenance(common, {}, report);
  const auto start = std::chrono::steady_clock::now();
  report.result = RunOnMachine(common, report.machine, hbm, program, 0);
  report.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.error_skipped = "timing moves no tensor data";
  return report;
}

bool Finish(const CommonOptions& common, const RunReport& report) {
  return EmitReport(common, report);
}

}  // namespace

bool RunMatmul(const MatmulCommand& command) {
  const DType type =
      DTypeOf(command.dtype, {DType::kBf16, DType::kFp16, DType::kFp8E4M3Fn, DType::kFp8E4M3,
                              DType::kFp8E5M2, DType::kFp8E4M3FnX4, DType::kFp8E5M2X4});
  const bool mx = IsX4(type);
  CheckSize("--k", command.k, mx ? 128 : 1, mx ? 512 : 128);
  CheckSize("--m", command.m, mx ? 2 : 1, 128);
  CheckSize("--n", command.n, 1, 4096);
  CheckMachineSettings(command.common);
  CheckOptions(command.common, {{"--output", command.output}},
               {{"--stationary", command.stationary}, {"--moving", command.moving}});
  const bool with_data = FidelityOf(command.common) != Fidelity::kTiming;
  const std::int64_t k = command.k, m = command.m, n = command.n;
  const DType source = mx ? DType::kBf16 : type;
  const inputs::HostTensor stationary =
      TensorFrom("stationary", command.stationary, source, {k, m}, command.common.seed);
  const inputs::HostTensor moving =
      TensorFrom("moving", command.moving, source, {k, n}, command.common.seed);

  ops::Hbm hbm;
  const auto output = [&](const std::string& name, DType dtype, std::vector<std::int64_t> shape) {
    return PlaceOutput(hbm, name, dtype, std::move(shape), with_data);
  };
  const lang::HbmTensor s = PlaceInput(hbm, stationary, with_data);
  const lang::HbmTensor x = PlaceInput(hbm, moving, with_data);
  const lang::HbmTensor out = output("out", DType::kFp32, {m, n});
  ops::Program program;
  if (mx) {
    const std::int64_t p = k / 4;
    const kernels::MatmulMxArgs args{
        .stationary = s,
        .moving = x,
        .out = out,
        .stationary_words = output("stationary_words", type, {p, m}),
        .stationary_scales = output("stationary_scales", DType::kE8M0, {p / 8, m}),
        .moving_words = output("moving_words", type, {p, n}),
        .moving_scales = output("moving_scales", DType::kE8M0, {p / 8, n})};
    program = [args](isa::Sink& sink) { kernels::SingleMatmulMx(sink, args); };
  } else {
    const kernels::MatmulArgs args{.stationary = s, .moving = x, .out = out};
    program = [args](isa::Sink& sink) { kernels::SingleMatmul(sink, args); };
  }
  RunReport report = Run(command.common, "matmul", hbm, program);
  report.facts = {{"matmul", fmt::format("[{}, {}]^T x [{}, {}], {}", k, m, k, n, command.dtype)}};
  if (with_data) {
    const inputs::HostTensor result = Fetch(hbm, "out");
    report.checksum = Checksum(result.data);
    // Ordinary: one rounding per row. MX: two per group of 32.
    const int roundings = static_cast<int>(mx ? 2 * (k / 32) : k);
    report.error = ErrorOf(
        reference::JudgeMatmul(mx ? MxValues(hbm, "stationary") : Values(stationary),
                               mx ? MxValues(hbm, "moving") : Values(moving), command.k, command.m,
                               command.n, roundings, result.words<float>().data()));
    if (!command.output.empty())
      inputs::SaveTensor(command.output, result);
  }
  return Finish(command.common, report);
}

bool RunQuantize(const QuantizeCommand& command) {
  const DType source = DTypeOf(command.dtype, {DType::kBf16, DType::kFp16});
  const DType target = DTypeOf(command.target, {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4});
  if (command.rule != "x2" && command.rule != "ocp")
    throw SimError("--rule {}: allowed x2, ocp", command.rule);
  CheckSize("--partitions", command.partitions, 32, 128);
  CheckSize("--columns", command.columns, 4, 16384);
  CheckMachineSettings(command.common);
  CheckOptions(command.common, {{"--output", command.output}, {"--scales", command.scales}},
               {{"--input", command.input}});
  const bool with_data = FidelityOf(command.common) != Fidelity::kTiming;
  const std::int64_t p = command.partitions, columns = command.columns / 4;
  const inputs::HostTensor input =
      TensorFrom("source", command.input, source, {p, 4 * columns}, command.common.seed);
  ops::Hbm hbm;
  const kernels::QuantizeArgs args{
      .source = PlaceInput(hbm, input, with_data),
      .words = PlaceOutput(hbm, "words", target, {p, columns}, with_data),
      .scales = PlaceOutput(hbm, "scales", DType::kE8M0, {p / 8, columns}, with_data),
      .rule = command.rule == "x2" ? ScaleRule::kX2 : ScaleRule::kOcp};
  RunReport report = Run(command.common, "quantize", hbm,
                         [&args](isa::Sink& sink) { kernels::SingleQuantize(sink, args); });
  report.facts = {{"quantize", fmt::format("[{}, {}] {} to {}, rule {}", p, 4 * columns,
                                           command.dtype, command.target, command.rule)}};
  if (with_data) {
    const inputs::HostTensor words = Fetch(hbm, "words");
    const inputs::HostTensor scales = Fetch(hbm, "scales");
    std::vector<std::byte> both = words.data;
    both.insert(both.end(), scales.data.begin(), scales.data.end());
    report.checksum = Checksum(both);
    report.error = ErrorOf(reference::JudgeQuantize(
        ElementOf(target), args.rule == ScaleRule::kOcp, Values(input),
        words.words<std::uint32_t>().data(), scales.words<std::uint8_t>().data(),
        command.partitions, static_cast<int>(columns)));
    if (!command.output.empty())
      inputs::SaveTensor(command.output, words);
    if (!command.scales.empty())
      inputs::SaveTensor(command.scales, scales);
  }
  return Finish(command.common, report);
}

}  // namespace bwmm::app
