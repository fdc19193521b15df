#include "replay/replay_run.h"

#include "model/ops/executor.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"
#include "replay/replay_tensor.h"

namespace bwmm::replay {
namespace {

constexpr std::array<std::string_view, 4> kModes = {"executor", "fast", "timing", "rtl"};

Fidelity FidelityOf(ReplayMode mode) {
  switch (mode) {
    case ReplayMode::kTiming:
      return Fidelity::kTiming;
    case ReplayMode::kRtl:
      return Fidelity::kRtl;
    case ReplayMode::kFast:
    case ReplayMode::kExecutor:
      break;
  }
  Check(mode == ReplayMode::kFast, "the executor has no fidelity");
  return Fidelity::kFast;
}

void Run(const ReplayProgram& program, RunOptions& options, ReplayOutcome& outcome) {
  const bool control_only = outcome.mode == ReplayMode::kTiming;
  const MachineConfig machine = MachineOf(program);
  const auto cores = static_cast<std::size_t>(machine.cores);
  for (std::size_t core = cores; core < program.cores.size(); ++core) {
    if (!program.cores[core].empty())
      throw SimError("core{} has instructions, the machine has {} cores", core, cores);
  }
  outcome.emitted.resize(cores);
  ops::Hbm hbm(static_cast<std::uint64_t>(machine.hbm.capacity_mib) << 20);
  for (const ReplayTensor& tensor : program.tensors)
    PlaceTensor(hbm, tensor, control_only);
  const ops::Program kernel = [&](isa::Sink& sink) {
    const auto core = static_cast<std::size_t>(sink.core());
    if (core < program.cores.size())
      outcome.emitted[core] = EmitSteps(program.cores[core], sink);
  };
  if (outcome.mode == ReplayMode::kExecutor) {
    ops::RunSequentially(LimitsOf(machine), hbm, kernel, options.checked);
  } else {
    Records records;
    options.observers.push_back(&records);
    outcome.result = RunMachine(machine, FidelityOf(outcome.mode), hbm, kernel, options);
    outcome.records = records.Sorted();
  }
  if (control_only)
    return;
  for (const ReplayTensor& tensor : program.tensors)
    outcome.tensors.push_back(std::move(hbm.Find(tensor.name).data));
}

}  // namespace

std::string_view NameOf(ReplayMode mode) {
  return kModes[static_cast<int>(mode)];
}

std::optional<ReplayMode> ParseReplayMode(std::string_view name) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (kModes[i] == name)
      return static_cast<ReplayMode>(i);
  }
  return std::nullopt;
}

MachineConfig MachineOf(const ReplayProgram& program) {
  MachineConfig machine = LoadMachine(program.machine);
  for (const auto& [key, value] : program.settings)
    ApplySetting(machine, key, value);
  return machine;
}

ReplayOutcome RunReplay(const ReplayProgram& program, ReplayMode mode, RunOptions options) {
  ReplayOutcome outcome;
  outcome.mode = mode;
  try {
    Run(program, options, outcome);
  } catch (const SimError& error) {
    outcome.error = error.what();
  } catch (const CheckFailure& error) {
    outcome.error = error.what();
  }
  return outcome;
}

}  // namespace bwmm::replay
