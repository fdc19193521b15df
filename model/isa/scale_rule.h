// How quantize_mx picks the E8M0 scale X of a scale group with largest magnitude amax.
#pragma once

#include <cstdint>

namespace bwmm {

enum class ScaleRule : std::uint8_t {
  kX2,   // X = 2^(floor(log2 amax) - (emax - 1)), the ISA rule: rounding never saturates
  kOcp,  // X = 2^(floor(log2 amax) - emax), with saturation to +-max
};
inline constexpr int kScaleRules = 2;

}  // namespace bwmm
