#include "model/support/float_environment.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "model/support/sim_error.h"

namespace bwmm {
namespace {

// Volatile: computed here and now, not by the compiler.
using Now = volatile float;

std::uint32_t Bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// fegetround() may know of another unit than the one that computes, so arithmetic answers.
std::string_view Rounding() {
  Now one = 1, minus_one = -1, quarter_ulp = 0x1p-26f;
  Now above = one + quarter_ulp, below = one - quarter_ulp, lower = minus_one - quarter_ulp;
  if (above != 1)
    return "upward";
  if (lower != -1)
    return "downward";
  return below != 1 ? "toward zero" : "to nearest";
}

}  // namespace

void CheckFloatEnvironment() {
  if (Rounding() != "to nearest")
    throw SimError("host floating point: rounding is {}, allowed to nearest", Rounding());
  Now smallest = std::numeric_limits<float>::min();
  Now subnormal = std::numeric_limits<float>::denorm_min();
  Now half = smallest * 0.5f;
  Now scaled = subnormal * 0x1p100f;
  if (Bits(half) == 0)
    throw SimError("host floating point: subnormal results are zero (FTZ on), allowed off");
  if (Bits(scaled) == 0)
    throw SimError("host floating point: subnormal operands are zero (DAZ on), allowed off");
}

}  // namespace bwmm
