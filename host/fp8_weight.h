// The code of an fp8 weight.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/numerics/fp8.h"

namespace bwmm::host {

// The largest magnitude whose codes e4m3fn and gen3's e4m3 share.
inline constexpr float kLargestFp8Weight = 240.0f;

// Nearest even, saturating at it.
constexpr std::uint8_t EncodeFp8Weight(float value) {
  const float in_range = std::clamp(value, -kLargestFp8Weight, kLargestFp8Weight);
  return Fp8E4M3Fn::RoundFrom(in_range, Saturate::kYes).bits();
}

}  // namespace bwmm::host
