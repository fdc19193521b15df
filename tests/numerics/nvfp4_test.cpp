// All 16 x 256 products of a code and a scale.
#include "model/numerics/nvfp4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

Bf16 Value(int code, int scale) {
  return Nvfp4Value(Fp4E2M1Fn::FromBits(static_cast<std::uint8_t>(code)),
                    Fp8E4M3Fn::FromBits(static_cast<std::uint8_t>(scale)));
}

TEST(Nvfp4, EveryCodeTimesEveryScaleIsExact) {
  for (int code = 0; code < 16; ++code) {
    for (int scale = 0; scale < 256; ++scale) {
      const double wanted = test::E2M1Oracle().Value(code) * test::E4M3FnOracle().Value(scale);
      const double value = Value(code, scale).ToFloat();
      if (std::isnan(wanted)) {
        ASSERT_TRUE(std::isnan(value)) << code << " x " << scale;
        continue;
      }
      ASSERT_EQ(value, wanted) << code << " x " << scale;
      ASSERT_EQ(std::signbit(value), std::signbit(wanted)) << code << " x " << scale;
    }
  }
}

TEST(Nvfp4, PositiveValuesReachFrom2ToMinus10To2688) {
  std::set<double> values;
  for (int code = 1; code < 8; ++code) {
    for (int scale = 1; scale < 0x7f; ++scale)
      values.insert(Value(code, scale).ToFloat());
  }
  EXPECT_EQ(*values.begin(), std::ldexp(1.0, -10));
  EXPECT_EQ(*values.rbegin(), 2688.0);
}

}  // namespace
}  // namespace bwmm
