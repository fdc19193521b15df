// Outcomes of sums near and beyond the end of fp32 and bf16, by hand.
#include "kernels/moe_cte/path_sum_ref.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace bwmm::reference {
namespace {

constexpr double kLargestBf16 = 0x1.fep127;  // 7f7f
constexpr double kLargestFp32 = 0x1.fffffep127;
constexpr double kInf = HUGE_VAL;

PathSum SumOf(bool mx, const std::vector<double>& weights, double x, int depth) {
  const auto panel = std::make_unique<Panel>();
  panel->Map([](double) { return 0.0; });
  for (std::size_t k = 0; k < weights.size(); ++k)
    panel->weight[k][0] = weights[k];
  const std::vector<Range> ones(kPassRows, Exactly(x));
  PathSum sum(mx);
  sum.Add(*panel, 0, depth, ones.data());
  return sum;
}

TEST(PathSumRef, RowsOverflowThoughTheSumIsFinite) {
  EXPECT_EQ(SumOf(false, {kLargestBf16, kLargestBf16, -kLargestBf16}, 1, 3).InPsum().can,
            kPositiveInf);
  const Range other = SumOf(false, {kLargestBf16, -kLargestBf16, kLargestBf16}, 1, 3).InPsum();
  EXPECT_EQ(other.can, kFinite);
  EXPECT_NEAR(other.value, kLargestBf16, other.error);
}

TEST(PathSumRef, InfOfBothSignsIsNan) {
  const double w = kLargestBf16;
  std::vector<double> weights(256, 0.0);
  weights[0] = weights[1] = w;
  weights[128] = weights[129] = -w;
  EXPECT_EQ(SumOf(false, weights, 1, 256).InPsum().can, kNaN);
}

TEST(PathSumRef, AnMxGroupIsExactAndOverflowsAsAWhole) {
  // Within a group of 32 only the sum counts; the next group's -Inf makes NaN of +Inf.
  std::vector<double> weights(512, 0.0);
  weights[0] = weights[1] = 0x1p127;
  weights[2] = -0x1p127;
  EXPECT_EQ(SumOf(true, weights, 1, 512).InPsum().can, kFinite);
  weights[2] = 0;
  EXPECT_EQ(SumOf(true, weights, 1, 512).InPsum().can, kPositiveInf);
  weights[32] = weights[33] = -0x1p127;
  EXPECT_EQ(SumOf(true, weights, 1, 512).InPsum().can, kNaN);
}

TEST(PathSumRef, TheWidthOfChunksIsOpenAndNothingElse) {
  std::vector<double> weights(512, 0.0);
  weights[0] = weights[128] = 0x1.8p127;
  weights[256] = -0x1.8p127;
  const PathSum sum = SumOf(false, weights, 1, 512);
  EXPECT_EQ(sum.InPsum().can, kPositiveInf);
  // One, two and three passes a chunk overflow as well: the second pass always meets the first.
  EXPECT_EQ(sum.InAnyChunks().can, kPositiveInf);
  weights[128] = 0;
  weights[384] = -0x1.8p127;  // + | 0 | - | -: chunks of two passes add - and - first
  EXPECT_EQ(SumOf(false, weights, 1, 512).InPsum().can, kFinite);
  EXPECT_EQ(SumOf(false, weights, 1, 512).InAnyChunks().can, kFinite | kNegativeInf);
}

TEST(RangeRef, RoundsToInfFromHalfAStepBeyondTheLargest) {
  EXPECT_EQ(RoundedToFp32(Exactly(kLargestFp32)).can, kFinite | kPositiveInf);  // too close to tell
  EXPECT_EQ(RoundedToFp32(Exactly(0x1p128)).can, kPositiveInf);
  EXPECT_EQ(RoundedToBf16(Exactly(-kLargestBf16)).can, kFinite);
  EXPECT_EQ(RoundedToBf16(Exactly(0x1.fefp127)).can, kFinite);
  EXPECT_EQ(RoundedToBf16(Exactly(0x1.ff1p127)).can, kPositiveInf);
  EXPECT_EQ(RoundedToBf16(Exactly(-0x1.ff1p127)).can, kNegativeInf);
  EXPECT_EQ(RoundedToBf16({.value = 0x1.f8p127, .error = 0x1p121}).can, kFinite);
  EXPECT_EQ(RoundedToBf16({.value = 0x1.f8p127, .error = 0x1p122}).can, kFinite | kPositiveInf);
  EXPECT_EQ(RoundedToBf16({.value = 0, .error = 0x1p128}).can,
            kFinite | kPositiveInf | kNegativeInf);
}

TEST(RangeRef, MultipliesAndAddsWhatIsNoNumber) {
  const Range inf = Exactly(kInf);
  EXPECT_EQ(Times(inf, Exactly(0)).can, kNaN);
  EXPECT_EQ(Times(inf, Exactly(-2)).can, kNegativeInf);
  EXPECT_EQ(Times(Exactly(-kInf), inf).can, kNegativeInf);
  EXPECT_EQ(Times(inf, {.value = 1, .error = 1}).can, kPositiveInf | kNaN);
  EXPECT_EQ(Times(inf, {.value = 1, .error = 2}).can, kPositiveInf | kNegativeInf | kNaN);
  EXPECT_EQ(Times(Exactly(NAN), Exactly(0)).can, kNaN);
  EXPECT_EQ(Plus(inf, Exactly(-kInf)).can, kNaN);
  EXPECT_EQ(Plus(inf, Exactly(-1e300)).can, kPositiveInf);
  EXPECT_EQ(Plus(Exactly(NAN), inf).can, kNaN);
  EXPECT_EQ(AddOutcomes(kFinite | kPositiveInf, kFinite | kNegativeInf),
            kFinite | kPositiveInf | kNegativeInf | kNaN);
}

TEST(RangeRef, ClampsBringInfBackAndNanNever) {
  const Range clamped = Clamped(Exactly(kInf), -1, 7);
  EXPECT_EQ(clamped.can, kFinite);
  EXPECT_EQ(clamped.value, 7);
  EXPECT_EQ(Clamped(Exactly(-kInf), -kInf, 7).can, kNegativeInf);
  EXPECT_EQ(Clamped(Exactly(NAN), -1, 7).can, kNaN);
  const Range either = Clamped({.value = 3, .error = 1, .can = kFinite | kPositiveInf}, -1, 7);
  EXPECT_EQ(either.can, kFinite);
  EXPECT_LE(either.value - either.error, 2);
  EXPECT_GE(either.value + either.error, 7);
}

TEST(RangeRef, ActivationsOverflowWhereTheyMust) {
  EXPECT_EQ(Activated(Function::kReluSquared, Exactly(1e20)).can, kPositiveInf);
  EXPECT_EQ(Activated(Function::kReluSquared, Exactly(-1e20)).can, kFinite);
  EXPECT_EQ(Activated(Function::kExp, Exactly(1e30)).can, kPositiveInf);
  EXPECT_EQ(Activated(Function::kExp, Exactly(88)).can, kFinite);
  EXPECT_EQ(Activated(Function::kExp, {.value = 88, .error = 2}).can, kFinite | kPositiveInf);
  EXPECT_EQ(Activated(Function::kSilu, Exactly(-kInf)).value, 0);
  EXPECT_EQ(Activated(Function::kSilu, Exactly(kInf)).can, kPositiveInf);
  EXPECT_NEAR(Activated(Function::kSigmoid, Exactly(kInf)).value, 1, 1e-12);
}

}  // namespace
}  // namespace bwmm::reference
