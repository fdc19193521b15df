// The judges of matmul and quantize_mx: what is right passes at the edge of its bound, what is
// wrong by a little more does not, and the order of overflow decides as docs/numerics.md says.
// Expected values are worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/single/elements_ref.h"
#include "kernels/single/matmul_ref.h"
#include "kernels/single/quantize_ref.h"

namespace bwmm::reference {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestBf16 = 0x1.fep127;  // 7f7f

// One output of K products with x = 1.
Judgement JudgeColumn(const std::vector<double>& w, double out, MatmulCase given = {}) {
  given.stationary = w;
  given.moving.assign(w.size(), 1.0);
  given.k = static_cast<int>(w.size());
  given.m = given.n = 1;
  return JudgeMatmul(given, {out});
}

TEST(MatmulJudge, TheBoundIsOneRoundingPerRow) {
  // 128 ones: 128 roundings of 2^-24 of 128 each are 2^-10.
  const std::vector<double> ones(128, 1.0);
  EXPECT_TRUE(JudgeColumn(ones, 128 + 0.99 * 0x1p-10).pass);
  const Judgement outside = JudgeColumn(ones, 128 + 1.01 * 0x1p-10);
  EXPECT_FALSE(outside.pass);
  EXPECT_EQ(outside.failed_rule, "an element outside its bound");
  EXPECT_NEAR(outside.max_bound_ratio, 1.01, 0.001);
  EXPECT_NEAR(outside.max_ulp, 1.01 * 64, 0.1);  // an ulp of 128 is 2^-16
  EXPECT_EQ(outside.worst->expected, 128);
  EXPECT_NEAR(outside.worst->bound, 0x1p-10, 1e-6);
}

TEST(MatmulJudge, AScaleGroupRoundsTwice) {
  // Four groups of 32: 8 roundings of 2^-24 of 128 are 2^-14.
  const std::vector<double> ones(128, 1.0);
  const MatmulCase mx{.pass_rows = 512, .group_rows = 32};
  EXPECT_TRUE(JudgeColumn(ones, 128 + 0.99 * 0x1p-14, mx).pass);
  EXPECT_FALSE(JudgeColumn(ones, 128 + 1.01 * 0x1p-14, mx).pass);
}

TEST(MatmulJudge, FourPassesOfFloat32RoundOnceMoreThanTheirRows) {
  // Ones have no lower halves: 128 roundings of 2^-24 of 128, and one where the last pass joins
  // zero.
  const MatmulCase fp32{.fp32 = true};
  const std::vector<double> ones(128, 1.0);
  EXPECT_TRUE(JudgeColumn(ones, 128 + 0.99 * 129 * 0x1p-17, fp32).pass);
  EXPECT_FALSE(JudgeColumn(ones, 128 + 1.01 * 129 * 0x1p-17, fp32).pass);
  // No half of an operand may be lost: 2^-12 and 2^-23 lie in the lower one.
  const std::vector<double> value = {1 + 0x1p-12 + 0x1p-23};
  EXPECT_TRUE(JudgeColumn(value, value[0], fp32).pass);
  EXPECT_FALSE(JudgeColumn(value, 1, fp32).pass);
  EXPECT_FALSE(JudgeColumn(value, value[0] - 0x1p-12, fp32).pass);
}

TEST(MatmulJudge, EveryPassRoundsOnceMoreInPsum) {
  // Two passes of one row each: a rounding of 1 in each, and one of their sum 2, all of 2^-24.
  const MatmulCase passes{.pass_rows = 1};
  EXPECT_TRUE(JudgeColumn({1, 1}, 2 + 3.99 * 0x1p-24, passes).pass);
  EXPECT_FALSE(JudgeColumn({1, 1}, 2 + 4.01 * 0x1p-24, passes).pass);
  // bf16 keeps 8 bits of the first pass and of the sum: 2^-8 of 1 and of 2.
  const MatmulCase halves{.pass_rows = 1, .bf16_psum = true};
  EXPECT_TRUE(JudgeColumn({1, 1}, 2 + 2.99 * 0x1p-8, halves).pass);
  EXPECT_FALSE(JudgeColumn({1, 1}, 2 + 3.03 * 0x1p-8, halves).pass);
}

TEST(ElementsJudge, TheLastRoundingJoinsTheBound) {
  const auto pass = [](double expected, double bound, double got, bool bf16) {
    return JudgeElements({.expected = {expected}, .bound = {bound}, .bf16 = bf16}, {got}).pass;
  };
  // Half an ulp of bf16 at 1 is 2^-8, of fp32 2^-24.
  EXPECT_TRUE(pass(1, 0, 1 + 0x1p-8, true));
  EXPECT_FALSE(pass(1, 0, 1 + 0x1.1p-8, true));
  EXPECT_FALSE(pass(1, 0, 1 + 0x1p-8, false));
  EXPECT_TRUE(pass(1, 0x1p-6, 1 + 0x1p-6, false));
  EXPECT_FALSE(pass(1, 0x1p-6, 1 + 0x1.1p-6, false));
  // Beyond the largest bf16 Inf is right, and only there.
  EXPECT_TRUE(pass(0x1p128, 0, kInf, true));
  EXPECT_FALSE(pass(0x1p128, 0, 0x1.fep127, true));
  EXPECT_FALSE(pass(1, 0, kInf, true));
  EXPECT_FALSE(pass(1, 0, kNan, true));
}

TEST(ElementsJudge, CountsWhatHasAnAnswerAndNamesTheWorst) {
  ElementsCase given{.expected = {1, 2, kNan, 4}, .bound = {0, 0, 0, 0}, .columns = 2};
  EXPECT_EQ(JudgeElements(given, {1, 2, kNan, 4}).count, 3);
  EXPECT_TRUE(JudgeElements(given, {1, 2, kNan, 4}).pass);
  EXPECT_FALSE(JudgeElements(given, {1, 2, 0, 4}).pass);
  const Judgement wrong = JudgeElements(given, {1, 2, kNan, 5});
  EXPECT_FALSE(wrong.pass);
  EXPECT_EQ(wrong.worst->row, 1);
  EXPECT_EQ(wrong.worst->column, 1);
  EXPECT_FALSE(JudgeElements(given, {1, 2}).pass);
  EXPECT_FALSE(JudgeElements({.expected = {kNan}, .bound = {0}}, {kNan}).pass);
  EXPECT_FALSE(JudgeElements({}, {}).pass);
  // The third element is in no row of two, and no bound is none.
  EXPECT_FALSE(
      JudgeElements({.expected = {1, 2, 3}, .bound = {1, 1, 1}, .columns = 2}, {1, 2, 999}).pass);
  EXPECT_FALSE(JudgeElements({.expected = {1}, .bound = {1}, .columns = 0}, {1}).pass);
  for (const double bound : {double{HUGE_VAL}, -1.0, kNan})
    EXPECT_FALSE(JudgeElements({.expected = {2}, .bound = {bound}}, {2}).pass) << bound;
}

TEST(MatmulJudge, ASumThatLeavesTheRangeOnTheWayIsInf) {
  const std::vector<double> w = {kLargestBf16, kLargestBf16, -kLargestBf16};
  const Judgement right = JudgeColumn(w, kInf);
  EXPECT_TRUE(right.pass) << right.failed_rule;
  EXPECT_EQ(right.count, 1);
  // No figure has a meaning.
  EXPECT_TRUE(std::isnan(right.max_bound_ratio) && std::isnan(right.max_ulp));
  for (const double wrong : {kLargestBf16, -kInf, kNan, 0.0})
    EXPECT_FALSE(JudgeColumn(w, wrong).pass) << wrong;
  // The other order stays in the range.
  const std::vector<double> other = {kLargestBf16, -kLargestBf16, kLargestBf16};
  EXPECT_TRUE(JudgeColumn(other, kLargestBf16).pass);
  EXPECT_FALSE(JudgeColumn(other, kInf).pass);
}

TEST(MatmulJudge, GroupsAtBothInfinitiesAreNaN) {
  std::vector<double> w(64, 0.0);
  w[0] = w[1] = kLargestBf16;
  w[32] = w[33] = -kLargestBf16;
  const MatmulCase mx{.pass_rows = 512, .group_rows = 32};
  const Judgement right = JudgeColumn(w, kNan, mx);
  EXPECT_TRUE(right.pass) << right.failed_rule;
  EXPECT_EQ(right.count, 1);
  EXPECT_FALSE(JudgeColumn(w, 0, mx).pass);
  EXPECT_FALSE(JudgeColumn(w, kInf, mx).pass);
  // Inside one group the sum is exact, so nothing overflows.
  std::swap(w[1], w[32]);
  EXPECT_TRUE(JudgeColumn(w, 0, mx).pass);
  EXPECT_FALSE(JudgeColumn(w, kNan, mx).pass);
}

TEST(MatmulJudge, APassThatOverflowsStaysInf) {
  const MatmulCase passes{.pass_rows = 2};
  const std::vector<double> w = {kLargestBf16, kLargestBf16, -kLargestBf16, 0};
  EXPECT_TRUE(JudgeColumn(w, kInf, passes).pass);
  EXPECT_FALSE(JudgeColumn(w, kLargestBf16, passes).pass);
}

TEST(MatmulJudge, Bf16OverflowsEarlierThanFp32) {
  // 2^128 - 2^119 rounds to Inf in bf16 and is an fp32 number.
  const std::vector<double> w = {0x1.ffp127};
  EXPECT_TRUE(JudgeColumn(w, 0x1.ffp127).pass);
  EXPECT_FALSE(JudgeColumn(w, kInf).pass);
  const MatmulCase halves{.bf16_psum = true};
  EXPECT_TRUE(JudgeColumn(w, kInf, halves).pass);
}

TEST(MatmulJudge, WithinARoundingOfTheLimitBothAreRight) {
  // The exact sum is above 2^128 - 2^103 by less than a rounding of the first two.
  const std::vector<double> w = {0x1p127, 0x1.8p80, 0x1.fffffep126};
  EXPECT_TRUE(JudgeColumn(w, 0x1.fffffep127).pass);
  EXPECT_TRUE(JudgeColumn(w, kInf).pass);
  EXPECT_FALSE(JudgeColumn(w, -kInf).pass);
  EXPECT_FALSE(JudgeColumn(w, kNan).pass);
  EXPECT_FALSE(JudgeColumn(w, 0x1p127).pass);
}

TEST(MatmulJudge, InfOperandsKeepTheirSign) {
  EXPECT_TRUE(JudgeColumn({kInf, -1}, kInf).pass);
  EXPECT_FALSE(JudgeColumn({kInf, -1}, -kInf).pass);
  EXPECT_EQ(JudgeColumn({kInf, -1}, 3).failed_rule,
            "a number where the reference leaves the range");
}

TEST(MatmulJudge, NothingComparedNeverPasses) {
  const Judgement judged = JudgeColumn({kNan, 1}, kNan);
  EXPECT_FALSE(judged.pass);
  EXPECT_EQ(judged.count, 0);
  EXPECT_THAT(judged.failed_rule, HasSubstr("nothing compared"));
  EXPECT_FALSE(JudgeMatmul({}, {}).pass);
}

TEST(MatmulJudge, ANumberForNaNFails) {
  EXPECT_FALSE(JudgeColumn({kNan, 1}, 1).pass);
  EXPECT_THAT(JudgeColumn({1, 1}, kNan).failed_rule,
              HasSubstr("NaN where the reference is a number"));
}

// One block of quantize_mx: 8 partitions of 4 lanes.
struct Block {
  std::vector<double> source = std::vector<double>(32, 1.0);
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(8, 0x70707070);
  std::vector<std::uint8_t> scales = {120};

  Judgement Judge() const {
    return JudgeQuantize({.source = source, .partitions = 8, .columns = 1}, words, scales);
  }
};

TEST(QuantizeJudge, OnesAreTheCode70AtScale120) {
  // x2: X = 2^(0 - 7), and 1 / X = 128 is the e4m3fn code 70.
  const Judgement right = Block().Judge();
  EXPECT_TRUE(right.pass) << right.failed_rule;
  EXPECT_EQ(right.count, 32);
  EXPECT_EQ(right.max_rel, 0);
}

TEST(QuantizeJudge, NoticesAScaleThatIsIgnored) {
  Block block;
  block.words.assign(8, 0x38383838);  // 1 without a scale
  const Judgement judged = block.Judge();
  EXPECT_FALSE(judged.pass);
  EXPECT_EQ(judged.failed_rule, "a code that is not the nearest");
  block.scales = {127};
  EXPECT_THAT(block.Judge().failed_rule, HasSubstr("scale code"));
}

TEST(QuantizeJudge, NoticesOneCodeAndZeros) {
  Block block;
  block.words[3] ^= 0x00010000;
  const Judgement judged = block.Judge();
  EXPECT_FALSE(judged.pass);
  ASSERT_TRUE(judged.worst.has_value());
  EXPECT_EQ(judged.worst->row, 3);
  EXPECT_EQ(judged.worst->column, 2);
  EXPECT_EQ(judged.worst->value, 0x71);
  EXPECT_EQ(judged.worst->expected, 0x70);
  block.words.assign(8, 0);
  EXPECT_FALSE(block.Judge().pass);
}

TEST(QuantizeJudge, NothingComparedNeverPasses) {
  EXPECT_FALSE(JudgeQuantize({}, {}, {}).pass);
}

TEST(DecodeMx, ScalesAndLanesAreWhereTheWordsSay) {
  // fp4: lanes 0.5, 1, -6, 0 at scale 2^1 in the second group.
  const std::vector<std::uint32_t> words(16, 0x0f21);
  std::vector<std::uint8_t> scales = {127, 128};
  const std::vector<double> values = DecodeMx(Element::kE2M1, words, scales, 16, 1);
  EXPECT_THAT(std::vector<double>(values.begin(), values.begin() + 4),
              testing::ElementsAre(0.5, 1, -6, 0));
  EXPECT_THAT(std::vector<double>(values.end() - 4, values.end()),
              testing::ElementsAre(1, 2, -12, 0));
  scales[1] = 0xff;
  EXPECT_TRUE(std::isnan(DecodeMx(Element::kE2M1, words, scales, 16, 1).back()));
}

TEST(LanesOf, RowsOfEveryPassAreDealtToLanes) {
  // 640 rows: the first 512 fill 128 partitions, the other 128 fill 32.
  std::vector<double> rows(640);
  for (int r = 0; r < 640; ++r)
    rows[r] = r;
  const std::vector<double> lanes = LanesOf(rows, 640, 1);
  EXPECT_EQ(lanes[4 * 5 + 2], 2 * 128 + 5);
  EXPECT_EQ(lanes[4 * (128 + 7) + 3], 512 + 3 * 32 + 7);
}

}  // namespace
}  // namespace bwmm::reference
