// E8M0 over all codes.
#include "model/numerics/e8m0.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

TEST(E8M0, TheScaleOfAGroupIsItsLargestBinadeLessTheHeadroom) {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (const double mantissa : {1.0, 1.5, 1.9921875}) {
      const auto largest = static_cast<float>(std::ldexp(mantissa, exponent));
      for (const int headroom : {2, 7, 15}) {
        const int wanted = std::max(-127, std::ilogb(largest) - headroom) + 127;
        ASSERT_EQ(E8M0::ForLargest(largest, headroom).bits(), wanted) << largest;
      }
    }
  }
  EXPECT_EQ(E8M0::ForLargest(0.0f, 7).bits(), 0);
  EXPECT_EQ(E8M0::ForLargest(std::numeric_limits<float>::infinity(), 7).bits(), 0xff);
  EXPECT_EQ(E8M0::ForLargest(std::numeric_limits<float>::quiet_NaN(), 7).bits(), 0xff);
}

TEST(E8M0, TheInverseOfEveryScaleIsExact) {
  for (int code = 0; code < 255; ++code)
    ASSERT_EQ(E8M0::FromBits(static_cast<std::uint8_t>(code)).Inverse(),
              std::ldexp(1.0, 127 - code));
  EXPECT_TRUE(std::isnan(E8M0::FromBits(0xff).Inverse()));
}

}  // namespace
}  // namespace bwmm
