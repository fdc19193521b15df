// E8M0 over all codes.
#include "model/numerics/e8m0.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bwmm {
namespace {

TEST(E8M0, EveryCodeIsItsPowerOfTwo) {
  for (int code = 0; code < 0xff; ++code) {
    const E8M0 scale = E8M0::FromBits(static_cast<std::uint8_t>(code));
    EXPECT_EQ(scale.bits(), code);
    EXPECT_EQ(scale.exponent(), code - 127);
    EXPECT_FALSE(scale.is_nan());
    EXPECT_EQ(static_cast<double>(scale.ToFloat()), std::ldexp(1.0, code - 127)) << code;
  }
}

TEST(E8M0, CodeZeroIsASubnormalPowerAndNotZero) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(E8M0::FromBits(0).ToFloat()), 0x00400000u);
}

TEST(E8M0, CodeFfIsNanAndNotInf) {
  EXPECT_TRUE(E8M0::FromBits(0xff).is_nan());
  EXPECT_EQ(std::bit_cast<std::uint32_t>(E8M0::FromBits(0xff).ToFloat()), 0x7fc00000u);
}

}  // namespace
}  // namespace bwmm
