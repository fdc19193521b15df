// Where two runs of one program part: in what was refused, what was emitted, when it ran, what the
// units' time went to, or in the bytes.
#pragma once

#include <optional>
#include <string>

#include "replay/replay_program.h"
#include "replay/replay_run.h"

namespace bwmm::replay {

enum class DivergenceKind : std::uint8_t { kError, kEmitted, kRecord, kClass, kTotal, kBytes };

struct Divergence {
  DivergenceKind kind = DivergenceKind::kError;
  std::string text;  // one line, and the listing line of the instruction where there is one
};

// Compares what both runs have: times of two machine runs, bytes of two runs with data.
std::optional<Divergence> FirstDivergence(const ReplayProgram& program, const ReplayOutcome& a,
                                          const ReplayOutcome& b);

}  // namespace bwmm::replay
