// What fits is asked of the allocator: a kernel makes its buffers once for a trial.
//
//   for (const Depths& depths : from_the_deepest_down)
//     if (Fits(nki, [&](Core& trial) { Kernel(trial, args, depths); })) ..
#pragma once

#include <functional>

#include "kernels/lang/core.h"

namespace bwmm::lang {

// Whether `allocate` finds room for its tiles. It gets a core whose memories are filled as those of
// `nki` are now; what it emits goes nowhere, and what it allocates is forgotten.
bool Fits(const Core& nki, const std::function<void(Core&)>& allocate);

}  // namespace bwmm::lang
