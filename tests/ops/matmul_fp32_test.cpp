// The four passes of an fp32 matmul, joined in fp32, against sums in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "model/ops/matmul.h"
#include "tb/common/stimulus.h"

namespace bwmm::ops {
namespace {

constexpr PePart kParts[] = {PePart::kLow, PePart::kHigh};
constexpr double kHalfUlp = 0x1p-24;

std::uint32_t Bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// One column, without the passes of `left_out`.
float FourPasses(const std::vector<std::uint32_t>& w, const std::vector<std::uint32_t>& x,
                 int left_out = -1) {
  float sum = 0;
  int pass = 0;
  for (const PePart own : kParts) {
    for (const PePart other : kParts) {
      float out = 0;
      Matmul({DType::kFp32, own}, w.data(), {DType::kFp32, other}, x.data(),
             static_cast<int>(w.size()), 1, 1, &out);
      if (pass++ != left_out)
        sum += out;
    }
  }
  return sum;
}

struct Exact {
  double sum = 0, magnitude = 0;
};

// Products of 24-bit significands are exact in double, their sums nearly.
Exact InDouble(const std::vector<std::uint32_t>& w, const std::vector<std::uint32_t>& x) {
  Exact exact;
  for (std::size_t k = 0; k < w.size(); ++k) {
    const double product = double{std::bit_cast<float>(w[k])} * double{std::bit_cast<float>(x[k])};
    exact.sum += product;
    exact.magnitude += std::fabs(product);
  }
  return exact;
}

// docs/numerics.md: K roundings in each pass, of a share of the magnitudes each, and three more
// where passes join; half a smallest subnormal for each of the 4 K.
double BoundOf(const Exact& exact, std::size_t k) {
  const auto rows = static_cast<double>(k);
  return (rows + 3) * kHalfUlp * (1 + 0x1p-14) * exact.magnitude + 4 * (rows + 1) * 0x1p-150;
}

TEST(MatmulFp32, IsWithinKAndThreeRoundingsOfTheExactSum) {
  double worst = 0;
  for (int seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tb::Stimulus stimulus(seed);
    const int k = stimulus.Between(1, 128);
    std::vector<std::uint32_t> w, x;
    for (int i = 0; i < k; ++i) {
      const auto flavour =
          seed % 3 == 0 ? tb::Stimulus::Flavour::kTiny : tb::Stimulus::Flavour::kTame;
      w.push_back(stimulus.Element(DType::kFp32, tb::Stimulus::Flavour::kTame));
      x.push_back(stimulus.Element(DType::kFp32, flavour));
    }
    const Exact exact = InDouble(w, x);
    const double error = std::fabs(FourPasses(w, x) - exact.sum);
    ASSERT_LE(error, BoundOf(exact, w.size()));
    worst = std::max(worst, error / BoundOf(exact, w.size()));
  }
  EXPECT_GT(worst, 0.05) << "the bound says something";
}

TEST(MatmulFp32, NeedsAllFourPassesForThatBound) {
  // One product of odd 24-bit significands, 1 + 2^-12 - 2^-23 squared: each half counts.
  const std::vector<std::uint32_t> value = {0x3f8007ff};
  const Exact exact = InDouble(value, value);
  EXPECT_LE(std::fabs(FourPasses(value, value) - exact.sum), BoundOf(exact, 1));
  for (const int left_out : {1, 2, 3})
    EXPECT_GT(std::fabs(FourPasses(value, value, left_out) - exact.sum), BoundOf(exact, 1));
  // The lowest products count where they are many: 128 of them are 2^-15, a last place of the sum.
  const std::vector<std::uint32_t> largest(128, 0x3fffffff);
  const Exact sum = InDouble(largest, largest);
  EXPECT_NE(FourPasses(largest, largest, 0), FourPasses(largest, largest));
  EXPECT_LE(std::fabs(FourPasses(largest, largest) - sum.sum), BoundOf(sum, 128));
}

TEST(MatmulFp32, IsExactWhereTwelveBitsHoldTheOperands) {
  // 3, -0.75 and 2^100 x 2^-100: sums of small integers and quarters.
  const std::vector<std::uint32_t> w = {Bits(3), Bits(-0.75F), Bits(0x1p100F)};
  const std::vector<std::uint32_t> x = {Bits(1.25F), Bits(4), Bits(0x1p-100F)};
  EXPECT_EQ(FourPasses(w, x), 1.75F);
}

TEST(MatmulFp32, KeepsSubnormalsOfBothHalves) {
  // 2^-149 is the lowest place of the lower half; times 2^149 it is 1, in two steps 2^64 and 2^85.
  const std::vector<std::uint32_t> least = {0x00000001};
  EXPECT_EQ(FourPasses(least, {Bits(0x1p64F)}), 0x1p-85F);
  // All places of the largest subnormal, which no half holds alone.
  EXPECT_EQ(FourPasses({0x007fffff}, {Bits(0x1p64F)}), std::bit_cast<float>(0x007fffffU) * 0x1p64F);
}

TEST(MatmulFp32, GivesNanForInfAndNanOperands) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::uint32_t bad : {Bits(inf), Bits(-inf), 0x7fc00000U, 0x7f800001U, 0xff801000U}) {
    EXPECT_EQ(Bits(FourPasses({bad}, {Bits(2)})), 0x7fc00000U) << std::hex << bad;
    EXPECT_EQ(Bits(FourPasses({Bits(2)}, {bad})), 0x7fc00000U) << std::hex << bad;
  }
  EXPECT_EQ(FourPasses({Bits(0x1p127F), Bits(0x1p127F)}, {Bits(1), Bits(1)}), inf) << "overflow";
}

}  // namespace
}  // namespace bwmm::ops
