#include "cli/layer_command.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "cli/emit_report.h"
#include "cli/layer_options.h"
#include "cli/tensor_io.h"
#include "cli/tile_dump.h"
#include "host/tensor_file.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"
#include "workloads/checksum.h"
#include "workloads/judge_layer.h"

namespace bwmm::cli {
namespace {

void AddFacts(const LayerCommand& command, const workloads::LayerJob& job,
              const host::LayerConfig& model, workloads::RunReport& report) {
  const auto& shape = job.shape();
  const auto& layout = job.layout();
  report.command = "run";
  report.variant = command.variant;
  report.model = model.name;
  report.tokens = command.tokens;
  report.facts = {
      {"layer", fmt::format("{}: H {}, I {}, E {}, top-{}, {} weights ({:.1f} MiB)", model.name,
                            shape.hidden, shape.intermediate, model.experts, model.top_k,
                            host::NameOf(job.weights()),
                            static_cast<double>(job.weight_bytes()) / (1 << 20))},
      {"padding",
       fmt::format(
           "H {} and I {} on the machine, {:.1f}% of a row's work; {} of {} rows hold a token",
           shape.hidden_padded, shape.intermediate_padded, 100 * shape.padding_fraction(),
           job.rows(), std::int64_t{layout.blocks} * layout.block_size)},
      {"blocks",
       fmt::format("{} of {} rows, {} live; {} tokens, routing {}", layout.blocks,
                   layout.block_size, layout.live_blocks, command.tokens,
                   command.routing.empty() ? fmt::format("seeded ({})", command.common.seed)
                                           : command.routing)},
      {"variant", command.variant}};
  report.useful_multiply_adds = job.UsefulWork();
  report.blocks = workloads::BlockReport{.blocks = layout.blocks,
                                         .live_blocks = layout.live_blocks,
                                         .block_size = layout.block_size,
                                         .rows = job.rows()};
  if (kernels::ParseImplementation(command.variant) ==
      kernels::MoECTEImplementation::shard_on_i_dropping) {
    report.blocks->dropped_rows = layout.dropped_rows;
    report.facts.emplace_back("dropped",
                              fmt::format("{} of {} rows, over the capacity of their expert",
                                          layout.dropped_rows, job.rows() + layout.dropped_rows));
  }
}

// Files that no argument names.
std::vector<std::string> TensorFiles(const host::LayerConfig& model) {
  std::vector<std::string> files;
  for (const std::string& file : {model.weights_file, model.hidden_file}) {
    if (!file.empty())
      files.push_back(file);
  }
  return files;
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
  const workloads::CheckMode mode = workloads::CheckModeOf(command.check);
  if (fidelity == Fidelity::kTiming &&
      (mode == workloads::CheckMode::kOn || mode == workloads::CheckMode::kWorstCase))
    throw SimError("--check {}: timing has no tensor data, allowed auto, off", command.check);
  if (fidelity == Fidelity::kTiming && !command.dump_tile.empty())
    throw SimError("--dump-tile {}: timing has no tensor data, allowed with rtl, fast",
                   command.dump_tile);
}

// The files a model names are known once it is read.
void CheckModelFiles(const LayerCommand& command, const host::LayerConfig& model,
                     std::vector<NamedFile> outputs) {
  for (NamedFile& common : CommonOutputs(command.common))
    outputs.push_back(std::move(common));
  outputs.push_back({"--output", command.output});
  CheckDistinct({TensorFile("model.weights_file", model.weights_file),
                 TensorFile("model.hidden_file", model.hidden_file)},
                outputs);
}

}  // namespace

bool RunLayer(const LayerCommand& given) {
  LayerCommand command = given;
  const Fidelity fidelity = FidelityOf(command.common);
  CheckTogether(command, fidelity);
  std::optional<TileDump> dump;
  if (!command.dump_tile.empty())
    dump.emplace(command.dump_tile);
  const std::vector<NamedFile> tile = dump ? dump->Files() : std::vector<NamedFile>();
  CheckOptions(command.common, {{"--output", command.output}},
               {{"--config", command.config}, {"--routing", command.routing}}, tile);
  const bool with_data = command.sequential || fidelity != Fidelity::kTiming;
  workloads::RunReport report;
  report.fidelity = fidelity;
  report.machine = MachineOf(command.common);
  report.checked = !command.common.unchecked;
  const isa::Limits limits = LimitsOf(report.machine);
  const workloads::LayerJobOptions options = LayerOptionsOf(command, report.machine);
  command.variant = NameOf(options.variant);
  const host::LayerConfig& model = options.model;
  CheckModelFiles(command, model, tile);
  workloads::LayerJob job(options, limits,
                          static_cast<std::uint64_t>(report.machine.hbm.capacity_mib) << 20,
                          with_data);
  AddFacts(command, job, model, report);
  if (!command.routing.empty())
    report.provenance.routing = command.routing;
  AddProvenance(command.common, with_data ? TensorFiles(model) : std::vector<std::string>(),
                report);

  const auto start = std::chrono::steady_clock::now();
  report.timed = !command.sequential;
  if (command.sequential) {
    report.result.instructions =
        ops::RunSequentially(limits, job.hbm(), job.program(), report.checked).instructions;
  } else {
    RunOptions run;
    if (dump)
      run.observers.push_back(&*dump);
    report.result = RunOnMachine(command.common, report.machine, job.hbm(), job.program(),
                                 job.instructions(), std::move(run));
  }
  report.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  ThrowIfInterrupted();
  if (dump)
    dump->Write(command.common);
  if (with_data) {
    const host::HostTensor output = job.Output();
    report.checksum = workloads::Checksum(output.data);
    if (!command.output.empty())
      host::SaveTensor(command.output, output);
    workloads::JudgeLayer(workloads::CheckModeOf(command.check), job, report);
  } else {
    report.error_skipped = "timing moves no tensor data";
  }
  return EmitReport(command.common, report);
}

}  // namespace bwmm::cli
