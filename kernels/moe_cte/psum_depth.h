// How deep PSUM buffers rotate. The kernels are laid out for 8 banks; another number of banks
// scales every depth, so that few banks cost overlap and many gain it.
#pragma once

#include <algorithm>

#include "model/isa/sink.h"

namespace bwmm::kernels {

inline constexpr int kPsumBanks = 8;

inline int PsumDepth(const isa::Limits& limits, int at_eight_banks) {
  return std::max(1, at_eight_banks * limits.psum_banks / kPsumBanks);
}

}  // namespace bwmm::kernels
