#include "cli/list_command.h"

#include <fmt/format.h>

#include "cli/run_options.h"
#include "host/layer_config.h"
#include "kernels/moe_cte/spec.h"
#include "model/support/sim_error.h"
#include "model/system/machine.h"
#include "workloads/moe_cte/layer_options.h"
#include "workloads/moe_cte/what_fits.h"
#include "workloads/registry.h"

namespace bwmm::cli {
namespace {

constexpr int kVariants = static_cast<int>(kernels::kImplementationNames.size());

// Numbers of the variants whose buffers fit with blocks of 256 rows, or of 128 (marked).
std::string RunsOn(const host::LayerConfig& model, const isa::Limits& limits) {
  std::string text;
  for (int i = 0; i < kVariants; ++i) {
    const auto variant = static_cast<kernels::MoECTEImplementation>(i);
    const auto fits = [&](int block_size) {
      return workloads::FitOf({.model = model, .variant = variant, .block_size = block_size},
                              limits) == workloads::Fit::kFits;
    };
    const bool whole = fits(256);
    if (whole || fits(128))
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", i, whole ? "" : "*");
  }
  return text;
}

std::string Models() {
  std::string text =
      fmt::format("{:<14} {:>5} {:>6} {:>4} {:>6}  {:<11} {:<11} {:<15} {}\n", "model", "H", "I",
                  "E", "top-k", "weights", "activation", "default", "runs on variants");
  const isa::Limits limits = LimitsOf(LoadMachine(CommonOptions().machine));
  for (const std::string& name : host::LayerPresetNames()) {
    const host::LayerConfig model = host::LayerPreset(name);
    const workloads::VariantChoice choice = workloads::DefaultVariant({.model = model}, limits);
    text += fmt::format(
        "{:<14} {:>5} {:>6} {:>4} {:>6}  {:<11} {:<11} {:<15} {}\n", name, model.hidden,
        model.intermediate, model.experts, model.top_k, host::NameOf(model.weights),
        NameOf(model.activation),
        fmt::format("{}{}", NameOf(choice.variant), choice.block_size == 128 ? "*" : ""),
        RunsOn(model, limits));
  }
  return text + "* with blocks of 128 rows\n";
}

std::string Variants() {
  constexpr std::string_view kMeanings[] = {
      "bf16, fp8: whole blocks per core, two planes summed at the end",
      "bf16, fp8: each core half of I, every block reduced across cores",
      "bf16, fp8: shard_on_i with a static prefix and a loop over live blocks",
      "bf16, fp8: shard_on_i on a capacity layout, block n is expert n; checkpoints",
      "MX: whole blocks per core, static halves and a loop over live blocks",
      "MX: each core half of I, every block reduced across cores",
      "MX: shard_on_i_mx with a static prefix and a loop over live blocks"};
  std::string text;
  for (int i = 0; i < kVariants; ++i) {
    const auto variant = static_cast<kernels::MoECTEImplementation>(i);
    text += fmt::format("{} {:<22} {}\n", i, kernels::NameOf(variant), kMeanings[i]);
  }
  return text;
}

std::string WorkloadList() {
  std::string text;
  for (const workloads::Entry& entry : workloads::Workloads()) {
    text += fmt::format("{:<16} {}{}{}\n", entry.name, entry.help,
                        entry.name == workloads::kDefaultWorkload ? " (default)" : "",
                        entry.subcommand ? fmt::format(" (also bwmm {})", entry.name) : "");
  }
  return text;
}

std::string Machines() {
  std::string text = fmt::format("{:<10} {:>10} {:>6} {:>12} {:>12} {:>14}\n", "machine",
                                 "generation", "cores", "TensorE MHz", "SBUF KiB/p", "HBM MB/s");
  for (const std::string& name : PresetNames()) {
    const MachineConfig machine = LoadMachine(name);
    text += fmt::format("{:<10} {:>10} {:>6} {:>12} {:>12} {:>14}\n", name, machine.generation,
                        machine.cores, machine.clock.tensor_mhz, machine.sbuf.bytes / 1024,
                        machine.hbm.bandwidth_mb_s);
  }
  return text;
}

std::string Counters() {
  std::string text =
      "Every TensorEngine cycle of every unit of every core has exactly one class:\n";
  constexpr std::string_view kMeanings[units::kTimeClasses] = {
      "the unit works",
      "waits for a result of the TensorEngine",
      "waits for a result of the VectorEngine",
      "waits for a result of the ScalarEngine",
      "waits for a result of GpSimd",
      "waits for a result of the Sync engine",
      "waits for a DMA",
      "waits for the other core (core_barrier, sendrecv)",
      "the program has not emitted the instruction yet (it waits for a register)",
      "the unit itself: clock edge, queue, fill, descriptor generation, start latency",
      "no instruction is left"};
  for (int c = 0; c < units::kTimeClasses; ++c) {
    text += fmt::format("  {:<11} {}\n", units::NameOf(static_cast<TimeClass>(c)), kMeanings[c]);
  }
  text += "Bytes: hbm_read, hbm_write (through the HBM target), sendrecv (between the cores)\n";
  return text;
}

}  // namespace

std::string ListText(const std::string& what) {
  if (what == "workloads")
    return WorkloadList();
  if (what == "models")
    return Models();
  if (what == "variants")
    return Variants();
  if (what == "machines")
    return Machines();
  if (what == "counters")
    return Counters();
  throw SimError("{}, allowed workloads, models, variants, machines, counters", what);
}

}  // namespace bwmm::cli
