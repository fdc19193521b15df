// One lane's code and the largest exponent of each x4 type, against tables of all of its values.
#include "model/numerics/encode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

struct Lane {
  DType words;
  const test::FormatOracle& oracle;
};

const Lane kLanes[] = {{DType::kFp8E4M3FnX4, test::E4M3FnOracle()},
                       {DType::kFp8E5M2X4, test::E5M2Oracle()},
                       {DType::kFp4E2M1FnX4, test::E2M1Oracle()}};

double Largest(const test::FormatOracle& oracle) {
  return oracle.magnitudes[oracle.format.max_code];
}

TEST(Encode, TheLargestExponentIsThatOfTheLargestValue) {
  for (const auto& [words, oracle] : kLanes)
    EXPECT_EQ(LargestExponent(words), std::ilogb(Largest(oracle)));
}

TEST(Encode, EveryLaneValueKeepsItsCode) {
  for (const auto& [words, oracle] : kLanes) {
    for (int code = 0; code <= static_cast<int>(oracle.format.max_code); ++code)
      EXPECT_EQ(EncodeLane(words, static_cast<float>(oracle.magnitudes[code])), code);
  }
}

TEST(Encode, ALaneRoundsToNearestEvenAndSaturates) {
  for (const auto& [words, oracle] : kLanes) {
    for (const float value : test::RoundingInputs(oracle, 2026)) {
      if (std::isnan(value))
        continue;
      ASSERT_EQ(EncodeLane(words, value), oracle.Round(value, oracle.format.max_code)) << value;
    }
  }
}

TEST(Encode, RejectsTypesWithoutLanes) {
  EXPECT_THROW(EncodeLane(DType::kBf16, 1.0f), CheckFailure);
  EXPECT_THROW(LargestExponent(DType::kFp8E5M2), CheckFailure);
}

}  // namespace
}  // namespace bwmm
