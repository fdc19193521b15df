#include "cli/replay_command.h"

#include <fmt/format.h>

#include "model/engine/make_engines.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"
#include "model/system/progress.h"
#include "replay/replay_compare.h"
#include "replay/replay_file.h"
#include "replay/replay_run.h"
#include "workloads/checksum.h"

namespace bwmm::cli {
namespace {

std::vector<replay::ReplayMode> ModesOf(const std::string& fidelity) {
  if (fidelity == "all") {
    std::vector<replay::ReplayMode> modes = {
        replay::ReplayMode::kExecutor, replay::ReplayMode::kFast, replay::ReplayMode::kTiming};
    if (engine::HasRtl())
      modes.push_back(replay::ReplayMode::kRtl);
    return modes;
  }
  const auto mode = replay::ParseReplayMode(fidelity);
  if (!mode)
    throw SimError("--fidelity {}: allowed all, executor, fast, timing, rtl", fidelity);
  return {*mode};
}

std::string Summary(const replay::ReplayOutcome& outcome) {
  std::size_t instructions = 0;
  for (const std::vector<std::size_t>& core : outcome.emitted)
    instructions += core.size();
  std::string text = fmt::format("{:<9} {} instructions", NameOf(outcome.mode), instructions);
  if (outcome.mode != replay::ReplayMode::kExecutor)
    text += fmt::format(", {} cycles", outcome.result.cycles);
  if (outcome.mode == replay::ReplayMode::kTiming)
    return text + "\n";
  std::vector<std::byte> all;
  for (const auto& bytes : outcome.tensors)
    all.insert(all.end(), bytes.begin(), bytes.end());
  return text + fmt::format(", checksum {}\n", workloads::Checksum(all));
}

}  // namespace

bool RunReplayCommand(const ReplayCommand& command) {
  const std::vector<replay::ReplayMode> modes = ModesOf(command.fidelity);
  const replay::ReplayProgram program = replay::LoadReplay(command.file);
  ValidateMachine(MachineOf(program));
  if (program.steps() == 0)
    throw SimError("{}: 0 instructions, allowed 1 or more: runs of none would agree", command.file);
  std::vector<replay::ReplayOutcome> outcomes;
  std::string text;
  for (const replay::ReplayMode mode : modes) {
    ProgressMeter progress([](const Progress&) { ThrowIfInterrupted(); });
    RunOptions options;
    options.observers = {&progress};
    outcomes.push_back(replay::RunReplay(program, mode, options));
    if (outcomes.back().error.empty())
      text += Summary(outcomes.back());
  }
  // A program nobody takes is wrong input, one that only some take is a difference.
  bool agree = true;
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    // Times are compared with fast, which has everything.
    const replay::ReplayOutcome& base = outcomes[i == 1 ? 0 : 1];
    if (const auto divergence = replay::FirstDivergence(program, base, outcomes[i])) {
      text += fmt::format("differs: {}\n", divergence->text);
      agree = false;
    }
  }
  if (agree && !outcomes[0].error.empty())
    throw SimError("{}: {}", command.file, outcomes[0].error);
  if (agree && outcomes.size() > 1)
    text += "all agree\n";
  WriteStandardOutput(text);
  return agree;
}

}  // namespace bwmm::cli
