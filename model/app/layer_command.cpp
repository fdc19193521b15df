#include "model/app/layer_command.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "kernels/inputs/tensor_file.h"
#include "model/app/checksum.h"
#include "model/app/interrupt.h"
#include "model/app/layer_job.h"
#include "model/app/tile_dump.h"
#include "model/support/sim_error.h"

namespace bwmm::app {
namespace {

// Multiply-adds of the reference up to which `auto` runs it: gpt-oss-20b at 512 tokens.
constexpr double kAutoCheckWork = 6e10;

inputs::LayerConfig ModelOf(const LayerCommand& command) {
  if (command.model.empty() == command.config.empty())
    throw SimError("run: give --model (a preset) or --config (a file), one of the two");
  inputs::LayerConfig model = command.model.empty() ? inputs::LoadLayerConfig(command.config)
                                                    : inputs::LayerPreset(command.model);
  for (const std::string& setting : command.common.settings) {
    const KeyValue entry = SplitSetting(setting);
    if (entry.key.starts_with("model."))
      inputs::ApplySetting(model, entry.key, entry.value);
    else if (!entry.key.starts_with("machine.") && !entry.key.starts_with("kernel."))
      throw SimError("--set {}: keys begin with model., kernel. or machine.", setting);
  }
  inputs::ValidateLayerConfig(model);
  return model;
}

kernels::KernelOptions KernelOf(const LayerCommand& command) {
  kernels::KernelOptions options;
  for (const std::string& setting : command.common.settings) {
    const KeyValue entry = SplitSetting(setting);
    if (entry.key.starts_with("kernel."))
      kernels::ApplySetting(options, entry.key, entry.value);
  }
  return options;
}

enum class CheckMode { kAuto, kOn, kOff };

CheckMode CheckModeOf(const std::string& text) {
  if (text == "auto")
    return CheckMode::kAuto;
  if (text == "on")
    return CheckMode::kOn;
  if (text == "off")
    return CheckMode::kOff;
  throw SimError("--check {}: allowed auto, on, off", text);
}

void AddFacts(const LayerCommand& command, const LayerJob& job, const inputs::LayerConfig& model,
              RunReport& report) {
  const auto& shape = job.shape();
  const auto& layout = job.layout();
  report.command = "run";
  report.variant = command.variant;
  report.model = model.name;
  report.tokens = command.tokens;
  report.facts = {
      {"layer", fmt::format("{}: H {}, I {}, E {}, top-{}, {} weights ({:.1f} MiB)", model.name,
                            shape.hidden, shape.intermediate, model.experts, model.top_k,
                            inputs::NameOf(job.weights()),
                            static_cast<double>(job.weight_bytes()) / (1 << 20))},
      {"padding",
       fmt::format("H {} and I {} on the machine: {:.1f}% of the work is padding",
                   shape.hidden_padded, shape.intermediate_padded, 100 * shape.padding_fraction())},
      {"blocks",
       fmt::format("{} of {} rows, {} live; {} tokens, routing {}", layout.blocks,
                   layout.block_size, layout.live_blocks, command.tokens,
                   command.routing.empty() ? fmt::format("seeded ({})", command.common.seed)
                                           : command.routing)},
      {"variant", command.variant}};
}

void Judge(const LayerCommand& command, LayerJob& job, RunReport& report) {
  const CheckMode mode = CheckModeOf(command.check);
  if (mode == CheckMode::kOff) {
    report.error_skipped = "--check off";
    return;
  }
  if (mode == CheckMode::kAuto && job.ReferenceWork() > kAutoCheckWork) {
    report.error_skipped =
        fmt::format("{:.1e} multiply-adds are over {:.0e}; --check on runs the reference",
                    job.ReferenceWork(), kAutoCheckWork);
    return;
  }
  const reference::Comparison comparison = job.Compare();
  report.error = ErrorReport{.max_row_rel = comparison.max_row_rel,
                             .max_ulp_bf16 = comparison.max_ulp_bf16,
                             .max_bound_ratio = comparison.max_bound_ratio,
                             .pass = comparison.pass};
}

void CheckTogether(const LayerCommand& command, Fidelity fidelity) {
  const CommonOptions& common = command.common;
  if (command.sequential) {
    if (fidelity != Fidelity::kFast)
      throw SimError("--fidelity {}: --sequential allows fast only", common.fidelity);
    if (!common.listing.empty())
      throw SimError("--listing {}: needs the machine, --sequential has none", common.listing);
    if (!command.dump_tile.empty())
      throw SimError("--dump-tile {}: needs the machine, --sequential has none", command.dump_tile);
  }
  if (fidelity == Fidelity::kTiming && CheckModeOf(command.check) == CheckMode::kOn)
    throw SimError("--check on: timing has no tensor data, allowed auto, off");
  if (fidelity == Fidelity::kTiming && !command.dump_tile.empty())
    throw SimError("--dump-tile {}: timing has no tensor data, allowed with rtl, fast",
                   command.dump_tile);
  CheckOptions(common, {{"--output", command.output}});
}

}  // namespace

bool RunLayer(const LayerCommand& command) {
  const Fidelity fidelity = FidelityOf(command.common);
  CheckTogether(command, fidelity);
  const bool with_data = command.sequential || fidelity != Fidelity::kTiming;
  CheckModeOf(command.check);
  RunReport report;
  report.fidelity = fidelity;
  report.machine = MachineOf(command.common);
  report.checked = !command.common.unchecked;
  const isa::Limits limits = LimitsOf(report.machine);
  const inputs::LayerConfig model = ModelOf(command);
  LayerJob job({.model = model,
                .variant = kernels::ParseImplementation(command.variant),
                .tokens = command.tokens,
                .block_size = command.block_size,
                .routing_csv = command.routing,
                .seed = command.common.seed,
                .kernel = KernelOf(command)},
               limits, static_cast<std::uint64_t>(report.machine.hbm.capacity_mib) << 20,
               with_data);
  AddFacts(command, job, model, report);

  std::optional<TileDump> dump;
  if (!command.dump_tile.empty())
    dump.emplace(command.dump_tile);
  const auto start = std::chrono::steady_clock::now();
  report.timed = !command.sequential;
  if (command.sequential) {
    report.result.instructions =
        ops::RunSequentially(limits, job.hbm(), job.program(), report.checked).instructions;
  } else {
    RunOptions options = RunOptionsOf(command.common, report.machine, job.instructions());
    if (dump)
      dump->Attach(options);
    report.result = RunMachine(report.machine, fidelity, job.hbm(), job.program(), options);
  }
  report.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  ThrowIfInterrupted();
  if (dump)
    dump->Write(command.common);
  if (with_data) {
    const inputs::HostTensor output = job.Output();
    report.checksum = Checksum(output.data);
    if (!command.output.empty())
      inputs::SaveTensor(command.output, output);
    Judge(command, job, report);
  } else {
    report.error_skipped = "timing moves no tensor data";
  }
  if (!command.common.json.empty())
    WriteJson(report, command.common.json);
  fmt::print("{}", ToText(report));
  return !report.error || report.error->pass;
}

}  // namespace bwmm::app
