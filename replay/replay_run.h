// Runs a program as data in one of the ways there are to run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/system/machine.h"
#include "model/system/records.h"
#include "replay/replay_program.h"

namespace bwmm::replay {

enum class ReplayMode : std::uint8_t { kExecutor, kFast, kTiming, kRtl };

std::string_view NameOf(ReplayMode mode);
std::optional<ReplayMode> ParseReplayMode(std::string_view name);

struct ReplayOutcome {
  ReplayMode mode = ReplayMode::kExecutor;
  std::string error;  // what refused the program or broke; the rest is empty then
  std::vector<std::vector<std::size_t>> emitted;  // per core: which step became instruction i
  RunResult result;                               // not of the executor
  std::vector<InstructionRecord> records;         // .. by end, core, id
  std::vector<std::vector<std::byte>> tensors;    // in the program's order; not in timing
};

// The machine the program names, with its settings.
MachineConfig MachineOf(const ReplayProgram& program);

// `options` are the machine's; records are taken here. Errors of program and machine come back in
// the outcome, an interrupt does not.
ReplayOutcome RunReplay(const ReplayProgram& program, ReplayMode mode, RunOptions options = {});

}  // namespace bwmm::replay
