// The fp8 formats against tables written from their definitions.
#include "model/numerics/fp8.h"

#include <gtest/gtest.h>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

template <typename Type>
const test::FormatOracle& OracleOf();
template <>
const test::FormatOracle& OracleOf<Fp8E4M3Fn>() {
  return test::E4M3FnOracle();
}
template <>
const test::FormatOracle& OracleOf<Fp8E4M3>() {
  return test::E4M3Oracle();
}
template <>
const test::FormatOracle& OracleOf<Fp8E5M2>() {
  return test::E5M2Oracle();
}

template <typename Type>
class Fp8Format : public testing::Test {};
using Formats = testing::Types<Fp8E4M3Fn, Fp8E4M3, Fp8E5M2>;
TYPED_TEST_SUITE(Fp8Format, Formats);

TYPED_TEST(Fp8Format, EveryCodeHasTheValueOfTheDefinition) {
  const test::FormatOracle& oracle = OracleOf<TypeParam>();
  for (int code = 0; code < 256; ++code) {
    const TypeParam element = TypeParam::FromBits(static_cast<std::uint8_t>(code));
    EXPECT_EQ(element.bits(), code);
    EXPECT_TRUE(test::SameBits(element.ToFloat(), test::AsFloat(oracle.Value(code))))
        << "code " << code << " is " << element.ToFloat() << ", not " << oracle.Value(code);
  }
}

TYPED_TEST(Fp8Format, RoundsToTheNearestEvenCode) {
  const test::FormatOracle& oracle = OracleOf<TypeParam>();
  const int overflow =
      oracle.format.inf_code >= 0 ? oracle.format.inf_code : oracle.format.nan_code;
  for (const float input : test::RoundingInputs(oracle, 1)) {
    ASSERT_EQ(TypeParam::RoundFrom(input, Saturate::kNo).bits(), oracle.Round(input, overflow))
        << std::hexfloat << input;
    ASSERT_EQ(TypeParam::RoundFrom(input, Saturate::kYes).bits(),
              oracle.Round(input, oracle.format.max_code))
        << std::hexfloat << input;
  }
}

TYPED_TEST(Fp8Format, RoundingGivesBackEveryFiniteCode) {
  const test::FormatOracle& oracle = OracleOf<TypeParam>();
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) > oracle.format.max_code)
      continue;
    const float value = TypeParam::FromBits(static_cast<std::uint8_t>(code)).ToFloat();
    EXPECT_EQ(TypeParam::RoundFrom(value, Saturate::kNo).bits(), code);
    EXPECT_EQ(TypeParam::RoundFrom(value, Saturate::kYes).bits(), code);
  }
}

// Values an engineer would look up, written down by hand.
TEST(Fp8, WellKnownCodes) {
  EXPECT_EQ(Fp8E4M3Fn::FromBits(0x7e).ToFloat(), 448.0f);
  EXPECT_EQ(Fp8E4M3::FromBits(0x77).ToFloat(), 240.0f);
  EXPECT_EQ(Fp8E5M2::FromBits(0x7b).ToFloat(), 57344.0f);
  EXPECT_EQ(Fp8E4M3Fn::FromBits(0x78).ToFloat(), 256.0f);
  EXPECT_EQ(Fp8E4M3::FromBits(0x78).ToFloat(), INFINITY);
  EXPECT_EQ(Fp8E4M3Fn::RoundFrom(464.0f, Saturate::kNo).bits(), 0x7e);
  EXPECT_EQ(Fp8E4M3Fn::RoundFrom(465.0f, Saturate::kNo).bits(), 0x7f);
  EXPECT_EQ(Fp8E4M3Fn::RoundFrom(-465.0f, Saturate::kYes).bits(), 0xfe);
  EXPECT_EQ(Fp8E5M2::RoundFrom(-61440.0f, Saturate::kNo).bits(), 0xfc);
  EXPECT_EQ(Fp8E5M2::RoundFrom(61440.0f, Saturate::kYes).bits(), 0x7b);
  EXPECT_EQ(Fp8E5M2::RoundFrom(-INFINITY, Saturate::kYes).bits(), 0xfb);
}

}  // namespace
}  // namespace bwmm
