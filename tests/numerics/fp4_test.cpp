// fp4 e2m1 against the table written from its definition.
#include "model/numerics/fp4.h"

#include <gtest/gtest.h>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

TEST(Fp4E2M1Fn, EveryCodeHasTheValueOfTheDefinition) {
  for (int code = 0; code < 16; ++code) {
    const Fp4E2M1Fn element = Fp4E2M1Fn::FromBits(static_cast<std::uint8_t>(code));
    EXPECT_EQ(element.bits(), code);
    EXPECT_TRUE(test::SameBits(element.ToFloat(), test::AsFloat(test::E2M1Oracle().Value(code))));
  }
}

TEST(Fp4E2M1Fn, OnlyTheLowFourBitsCount) {
  for (int bits = 0; bits < 256; ++bits)
    EXPECT_EQ(Fp4E2M1Fn::FromBits(static_cast<std::uint8_t>(bits)).bits(), bits & 0xf);
}

TEST(Fp4E2M1Fn, RoundsToTheNearestEvenCodeAndSaturates) {
  const test::FormatOracle& oracle = test::E2M1Oracle();
  for (const float input : test::RoundingInputs(oracle, 4)) {
    const int expected = std::isnan(input) ? 0x7 : oracle.Round(input, oracle.format.max_code);
    ASSERT_EQ(Fp4E2M1Fn::RoundFrom(input).bits(), expected) << std::hexfloat << input;
  }
}

TEST(Fp4E2M1Fn, HalfOfTheTiesGoDown) {
  const float ties[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  const int codes[7] = {0, 2, 2, 4, 4, 6, 6};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(Fp4E2M1Fn::RoundFrom(ties[i]).bits(), codes[i]) << ties[i];
    EXPECT_EQ(Fp4E2M1Fn::RoundFrom(-ties[i]).bits(), codes[i] | 8) << -ties[i];
  }
}

TEST(Fp4E2M1Fn, InfSaturatesWithItsSignAndNanIsPlusSix) {
  EXPECT_EQ(Fp4E2M1Fn::RoundFrom(INFINITY).bits(), 0x7);
  EXPECT_EQ(Fp4E2M1Fn::RoundFrom(-INFINITY).bits(), 0xf);
  EXPECT_EQ(Fp4E2M1Fn::RoundFrom(std::bit_cast<float>(0xffc00000u)).bits(), 0x7);
}

}  // namespace
}  // namespace bwmm
