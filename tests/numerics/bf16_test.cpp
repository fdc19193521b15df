// bf16 against the table written from its definition.
#include "model/numerics/bf16.h"

#include <gtest/gtest.h>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

TEST(Bf16, EveryCodeHasTheValueOfTheDefinition) {
  const test::FormatOracle& oracle = test::Bf16Oracle();
  for (int code = 0; code < 0x10000; ++code) {
    const Bf16 element = Bf16::FromBits(static_cast<std::uint16_t>(code));
    ASSERT_EQ(element.bits(), code);
    const double value = oracle.Value(code);
    if (std::isnan(value))
      ASSERT_EQ(std::bit_cast<std::uint32_t>(element.ToFloat()), static_cast<std::uint32_t>(code)
                                                                     << 16);
    else
      ASSERT_TRUE(test::SameBits(element.ToFloat(), static_cast<float>(value))) << "code " << code;
  }
}

TEST(Bf16, RoundsToTheNearestEvenCode) {
  const test::FormatOracle& oracle = test::Bf16Oracle();
  for (const float input : test::RoundingInputs(oracle, 2)) {
    ASSERT_EQ(Bf16::RoundFrom(input).bits(), oracle.Round(input, oracle.format.inf_code))
        << std::hexfloat << input;
  }
}

TEST(Bf16, RoundingGivesBackEveryCodeThatIsNoNan) {
  for (int code = 0; code < 0x10000; ++code) {
    if ((code & 0x7fff) > 0x7f80)
      continue;
    const Bf16 element = Bf16::FromBits(static_cast<std::uint16_t>(code));
    ASSERT_EQ(Bf16::RoundFrom(element.ToFloat()), element) << "code " << code;
  }
}

TEST(Bf16, WellKnownCodes) {
  EXPECT_EQ(Bf16::RoundFrom(1.0f).bits(), 0x3f80);
  EXPECT_EQ(Bf16::RoundFrom(-3.140625f).bits(), 0xc049);
  EXPECT_EQ(Bf16::RoundFrom(3.4e38f).bits(), 0x7f80);
  EXPECT_EQ(Bf16::RoundFrom(0x1p-133f).bits(), 0x0001);
  EXPECT_EQ(Bf16::RoundFrom(0x1p-134f).bits(), 0x0000);
  EXPECT_EQ(Bf16::RoundFrom(std::bit_cast<float>(0xff800001u)).bits(), 0x7fc0);
}

}  // namespace
}  // namespace bwmm
