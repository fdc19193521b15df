#include "model/app/replay_command.h"

#include <fmt/format.h>

#include "model/app/checksum.h"
#include "model/app/replay_compare.h"
#include "model/app/replay_file.h"
#include "model/app/replay_run.h"
#include "model/engine/make_engines.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"
#include "model/system/progress.h"

namespace bwmm::app {
namespace {

std::vector<ReplayMode> ModesOf(const std::string& fidelity) {
  if (fidelity == "all") {
    std::vector<ReplayMode> modes = {ReplayMode::kExecutor, ReplayMode::kFast, ReplayMode::kTiming};
    if (engine::HasRtl())
      modes.push_back(ReplayMode::kRtl);
    return modes;
  }
  const auto mode = ParseReplayMode(fidelity);
  if (!mode)
    throw SimError("--fidelity {}: allowed all, executor, fast, timing, rtl", fidelity);
  return {*mode};
}

std::string Summary(const ReplayOutcome& outcome) {
  std::string text = fmt::format("{:<9} {} instructions", NameOf(outcome.mode),
                                 outcome.emitted[0].size() + outcome.emitted[1].size());
  if (outcome.mode != ReplayMode::kExecutor)
    text += fmt::format(", {} cycles", outcome.result.cycles);
  if (outcome.mode == ReplayMode::kTiming)
    return text + "\n";
  std::vector<std::byte> all;
  for (const auto& bytes : outcome.tensors)
    all.insert(all.end(), bytes.begin(), bytes.end());
  return text + fmt::format(", checksum {}\n", Checksum(all));
}

}  // namespace

bool RunReplayCommand(const ReplayCommand& command) {
  const std::vector<ReplayMode> modes = ModesOf(command.fidelity);
  const ReplayProgram program = LoadReplay(command.file);
  MachineOf(program);
  std::vector<ReplayOutcome> outcomes;
  std::string text;
  for (const ReplayMode mode : modes) {
    ProgressMeter progress([](const Progress&) { ThrowIfInterrupted(); });
    RunOptions options;
    options.observers = {&progress};
    outcomes.push_back(RunReplay(program, mode, options));
    if (outcomes.back().error.empty())
      text += Summary(outcomes.back());
  }
  // A program nobody takes is wrong input, one that only some take is a difference.
  bool agree = true;
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    // Times are compared with fast, which has everything.
    const ReplayOutcome& base = outcomes[i == 1 ? 0 : 1];
    if (const auto divergence = FirstDivergence(program, base, outcomes[i])) {
      text += fmt::format("differs: {}\n", divergence->text);
      agree = false;
    }
  }
  if (agree && !outcomes[0].error.empty())
    throw SimError("{}: {}", command.file, outcomes[0].error);
  if (agree && outcomes.size() > 1)
    text += "all agree\n";
  fmt::print("{}", text);
  return agree;
}

}  // namespace bwmm::app
