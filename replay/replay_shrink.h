// Makes a failing program short: halves, quarters, .. single instructions and tensors are taken out
// for as long as it still fails.
#pragma once

#include <functional>

#include "replay/replay_program.h"

namespace bwmm::replay {

// Whether a program still shows the failure; a program that is refused does not.
using StillFails = std::function<bool(const ReplayProgram&)>;

// Meetings go from all their cores together, and a register_load takes along what hangs on it. Asks
// `still_fails` at most `tries` times.
ReplayProgram Shrink(ReplayProgram program, const StillFails& still_fails, int tries = 2000);

}  // namespace bwmm::replay
