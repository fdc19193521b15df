// Random streams of seeded weights.
#pragma once

#include <cstdint>

#include "host/random.h"

namespace bwmm::host {

// One stream per expert and tensor, far apart from the streams of routing and hidden rows.
enum WeightStream : std::uint64_t {
  kGateUp = 0x100,
  kDown = 0x200,
  kScale = 0x300,
  kGateBias,
  kUpBias,
  kDownBias
};

inline Random StreamOf(std::uint64_t seed, WeightStream stream, int expert) {
  return Random(seed, Mix(stream) + static_cast<std::uint64_t>(expert));
}

}  // namespace bwmm::host
