// fp16 against the table written from its definition.
#include "model/numerics/fp16.h"

#include <gtest/gtest.h>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

TEST(Fp16, EveryCodeHasTheValueOfTheDefinition) {
  const test::FormatOracle& oracle = test::Fp16Oracle();
  for (int code = 0; code < 0x10000; ++code) {
    const Fp16 element = Fp16::FromBits(static_cast<std::uint16_t>(code));
    ASSERT_EQ(element.bits(), code);
    ASSERT_TRUE(test::SameBits(element.ToFloat(), test::AsFloat(oracle.Value(code))))
        << "code " << code << " is " << element.ToFloat() << ", not " << oracle.Value(code);
  }
}

TEST(Fp16, RoundsToTheNearestEvenCode) {
  const test::FormatOracle& oracle = test::Fp16Oracle();
  for (const float input : test::RoundingInputs(oracle, 3)) {
    ASSERT_EQ(Fp16::RoundFrom(input).bits(), oracle.Round(input, oracle.format.inf_code))
        << std::hexfloat << input;
  }
}

TEST(Fp16, WellKnownCodes) {
  EXPECT_EQ(Fp16::RoundFrom(1.0f).bits(), 0x3c00);
  EXPECT_EQ(Fp16::RoundFrom(65504.0f).bits(), 0x7bff);
  EXPECT_EQ(Fp16::RoundFrom(65519.996f).bits(), 0x7bff);
  EXPECT_EQ(Fp16::RoundFrom(65520.0f).bits(), 0x7c00);
  EXPECT_EQ(Fp16::RoundFrom(-0x1p-24f).bits(), 0x8001);
  EXPECT_EQ(Fp16::RoundFrom(-0x1p-25f).bits(), 0x8000);
  EXPECT_EQ(Fp16::RoundFrom(std::bit_cast<float>(0xffc00000u)).bits(), 0x7e00);
}

}  // namespace
}  // namespace bwmm
