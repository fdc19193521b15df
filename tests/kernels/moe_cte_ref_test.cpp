// The reference against a second opinion: equal where nothing rounds, inside the bound where the
// machine's roundings are imitated, outside it when a mistake is made.
#include "kernels/moe_cte/moe_cte_ref.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host/block_layout.h"
#include "kernels/moe_cte/reference_problem.h"
#include "tests/kernels/moe_cte_naive.h"

namespace bwmm {
namespace {

using host::AffinityScaling;
using host::LayerConfig;
using host::WeightLayout;

constexpr std::uint64_t kSeed = 20;
constexpr int kTokens = 5;

struct Layer {
  Layer(LayerConfig layer_config, WeightLayout layout, int tokens)
      : config(std::move(layer_config)),
        routing(host::GenerateRouting(config.RoutingFor(tokens, kSeed))),
        blocks(host::BuildBlockLayout(routing, {.block_size = 8})),
        tensors(host::BuildLayer(config, routing, layout, kSeed, true)),
        problem(ReferenceProblem(config, tensors, blocks)) {}

  LayerConfig config;
  host::Routing routing;
  host::BlockLayout blocks;
  host::LayerTensors tensors;
  reference::MoeCteProblem problem;
};

// GPT-OSS in small: biases, clamps that bite, sizes that need padding.
LayerConfig SmallConfig() {
  return {.name = "small",
          .hidden = 600,
          .intermediate = 700,
          .experts = 3,
          .top_k = 2,
          .activation = Activation::kSwish,
          .gate_up_bias = true,
          .down_bias = true,
          .gate_clamp_upper = 1.0f,
          .up_clamp_upper = 2.0f,
          .up_clamp_lower = -1.0f,
          .up_offset = 1};
}

std::string NameOfCase(const testing::TestParamInfo<WeightLayout>& info) {
  return std::string(host::NameOf(info.param));
}

class MoeCteRef : public testing::TestWithParam<WeightLayout> {};

INSTANTIATE_TEST_SUITE_P(Layouts, MoeCteRef,
                         testing::Values(WeightLayout::kBf16, WeightLayout::kFp8,
                                         WeightLayout::kMxfp4, WeightLayout::kMxfp8E4M3,
                                         WeightLayout::kMxfp8E5M2),
                         NameOfCase);

void ExpectEqualToNaive(const Layer& layer) {
  const reference::MoeCteResult result = reference::RunMoeCte(layer.problem);
  const std::vector<double> naive = NaiveMoe(layer.config, layer.tensors, layer.routing).Run();
  ASSERT_EQ(result.output.size(), naive.size());
  double largest = 0;
  for (const double value : naive)
    largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0.01);
  for (std::size_t k = 0; k < naive.size(); ++k)
    ASSERT_NEAR(result.output[k], naive[k], 1e-12 * largest) << "element " << k;
}

TEST_P(MoeCteRef, EqualsOneMultiplicationAtATime) {
  ExpectEqualToNaive(Layer(SmallConfig(), GetParam(), kTokens));
}

TEST_P(MoeCteRef, PreScaleMultipliesTheHiddenRows) {
  LayerConfig config = SmallConfig();
  config.affinity_scaling = AffinityScaling::kPreScale;
  ExpectEqualToNaive(Layer(config, GetParam(), kTokens));
}

TEST_P(MoeCteRef, NoScaleDoesNotScale) {
  LayerConfig config = SmallConfig();
  config.affinity_scaling = AffinityScaling::kNoScale;
  ExpectEqualToNaive(Layer(config, GetParam(), kTokens));
}

TEST_P(MoeCteRef, BoundHoldsForTheMachinesRoundings) {
  for (const bool split : {false, true}) {
    for (const Activation activation : {Activation::kSwish, Activation::kReluSquared}) {
      LayerConfig config = SmallConfig();
      config.activation = activation;
      Layer layer(config, GetParam(), kTokens);
      layer.problem.split_intermediate = split;
      NaiveMoe machine(layer.config, layer.tensors, layer.routing);
      machine.rounded = true;
      machine.split_intermediate = split;
      const std::vector<std::uint16_t> rows = machine.RunToBf16();
      for (const bool worst_case : {false, true}) {
        layer.problem.worst_case = worst_case;
        const reference::Comparison comparison =
            reference::Compare(reference::RunMoeCte(layer.problem), rows.data());
        EXPECT_TRUE(comparison.pass) << NameOf(activation) << " split " << split << " worst case "
                                     << worst_case << ": bound ratio " << comparison.max_bound_ratio
                                     << ", rms ratio " << comparison.max_rms_ratio;
        EXPECT_EQ(comparison.count, kTokens * layer.config.hidden);
        // A bound nothing comes near would find nothing.
        EXPECT_GT(comparison.max_bound_ratio, worst_case ? 0.05 : 0.1);
        if (!worst_case) {  // which knows no sigma
          EXPECT_GT(comparison.max_rms_ratio, 0.3);
        }
      }
    }
  }
}

TEST_P(MoeCteRef, ComparisonFindsEveryMistake) {
  const Layer layer(SmallConfig(), GetParam(), kTokens);
  const reference::MoeCteResult expected = reference::RunMoeCte(layer.problem);
  NaiveMoe machine(layer.config, layer.tensors, layer.routing);
  machine.rounded = true;
  for (const Mistake mistake :
       {Mistake::kDownBiasTwice, Mistake::kNoUpBias, Mistake::kGateAndUpSwapped,
        Mistake::kNoAffinity, Mistake::kNoClamp, Mistake::kLastTileMissing, Mistake::kLanesReversed,
        Mistake::kWrongActivation, Mistake::kNeighbourToken, Mistake::kOneExpertMissing}) {
    const bool only_mx = mistake == Mistake::kLastTileMissing || mistake == Mistake::kLanesReversed;
    if (only_mx && !host::IsMx(GetParam()))
      continue;
    machine.mistake = mistake;
    EXPECT_FALSE(reference::Compare(expected, machine.RunToBf16().data()).pass)
        << "mistake " << static_cast<int>(mistake);
  }
}

// Cores that compute whole blocks have a bf16 plane each. Two planes hold at least the output's
// magnitude, and are off by half a place of bf16 or more.
TEST(MoeCteRef, PlanesOfSeveralCoresAreOneMoreRounding) {
  Layer layer(SmallConfig(), WeightLayout::kBf16, kTokens);
  layer.problem.worst_case = true;
  layer.problem.cores = 1;
  const reference::MoeCteResult one = reference::RunMoeCte(layer.problem);
  layer.problem.cores = 2;
  const reference::MoeCteResult two = reference::RunMoeCte(layer.problem);
  ASSERT_FALSE(one.bound.empty());
  for (std::size_t at = 0; at < one.bound.size(); ++at)
    EXPECT_GE(two.bound[at] - one.bound[at], 0.999 * 0x1p-8 * std::fabs(one.output[at])) << at;
}

TEST(MoeCteRef, NanInOneHiddenElementMakesItsRowsNanWithMxWeights) {
  Layer layer(SmallConfig(), WeightLayout::kMxfp4, kTokens);
  const int hidden = layer.tensors.shape.hidden_padded;
  layer.tensors.hidden.words<std::uint16_t>()[2 * hidden + 5] = 0x7fc0;
  const reference::MoeCteResult result = reference::RunMoeCte(layer.problem);
  for (int t = 0; t < kTokens; ++t) {
    // Output columns of padding have zero weights and scale 0x00, which times NaN is NaN too.
    for (int h = 0; h < hidden; ++h)
      EXPECT_EQ(std::isnan(result.output[t * hidden + h]), t == 2);
  }
}

TEST(MoeCteRef, ResultDoesNotDependOnTheNumberOfThreads) {
  Layer layer(SmallConfig(), WeightLayout::kMxfp8E4M3, kTokens);
  layer.problem.threads = 1;
  const reference::MoeCteResult one = reference::RunMoeCte(layer.problem);
  layer.problem.threads = 3;
  const reference::MoeCteResult three = reference::RunMoeCte(layer.problem);
  EXPECT_EQ(one.output, three.output);
  EXPECT_EQ(one.bound, three.bound);
  EXPECT_EQ(one.sigma, three.sigma);
}

TEST(MoeCteRef, RowsOfOneExpertBeyondOneBatchAreAllComputed) {
  const LayerConfig config{.hidden = 20, .intermediate = 16, .experts = 1, .top_k = 1};
  ExpectEqualToNaive(Layer(config, WeightLayout::kBf16, 600));
}

reference::MoeCteResult TwoByTwo() {
  return {.tokens = 2,
          .hidden = 2,
          .output = {1, -2, 0, 4},
          .bound = {0.1, 0.1, 0, 0.1},
          .sigma = {0.1, 0.1, 0, 0.1}};
}

std::uint16_t Bits(double value) {
  return Bf16::RoundFrom(static_cast<float>(value)).bits();
}

TEST(MoeCteRefCompare, MeasuresTheWorstElement) {
  const std::vector<std::uint16_t> rows = {Bits(1), Bits(-2), Bits(0), Bits(4.0625)};
  const reference::Comparison comparison = reference::Compare(TwoByTwo(), rows.data());
  EXPECT_TRUE(comparison.pass);
  EXPECT_EQ(comparison.failed, reference::Rule::kNone);
  EXPECT_EQ(comparison.count, 4);
  EXPECT_EQ(comparison.outside, 0);
  EXPECT_EQ(comparison.worst_token, 1);
  EXPECT_EQ(comparison.worst_column, 1);
  EXPECT_EQ(comparison.worst_value, 4.0625);
  EXPECT_EQ(comparison.worst_expected, 4);
  EXPECT_EQ(comparison.worst_bound, 0.1);
  EXPECT_DOUBLE_EQ(comparison.max_row_rel, 0.0625 / 4);
  EXPECT_DOUBLE_EQ(comparison.max_ulp_bf16, 2);  // the distance of bf16 numbers from 4 is 1/32
  EXPECT_DOUBLE_EQ(comparison.max_bound_ratio, 0.625);
}

// 1.1 times the bound, far from twice: a doubled bound would let it by.
TEST(MoeCteRefCompare, RejectsAnErrorAboveItsBound) {
  reference::MoeCteResult expected = TwoByTwo();
  expected.bound[0] = 0.0568;
  const std::vector<std::uint16_t> rows = {Bits(1.0625), Bits(-2), Bits(0), Bits(4)};
  const reference::Comparison comparison = reference::Compare(expected, rows.data());
  EXPECT_FALSE(comparison.pass);
  EXPECT_EQ(comparison.failed, reference::Rule::kBound);
  EXPECT_EQ(comparison.outside, 1);
  EXPECT_EQ(comparison.worst_value, 1.0625);
}

TEST(MoeCteRefCompare, RejectsAnythingInARowThatMustStayZero) {
  const std::vector<std::uint16_t> rows = {Bits(1), Bits(-2), 1, Bits(4)};
  const reference::Comparison comparison = reference::Compare(TwoByTwo(), rows.data());
  EXPECT_FALSE(comparison.pass);
  EXPECT_EQ(comparison.failed, reference::Rule::kBound);
  EXPECT_EQ(comparison.worst_token, 1);
  EXPECT_EQ(comparison.worst_column, 0);
}

TEST(MoeCteRefCompare, RejectsAnErrorWhereTheBoundIsNan) {
  reference::MoeCteResult expected = TwoByTwo();
  expected.bound[0] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::uint16_t> rows = {Bits(1.0625), Bits(-2), Bits(0), Bits(4)};
  EXPECT_EQ(reference::Compare(expected, rows.data()).failed, reference::Rule::kBound);
}

// Ones of one sigma each; row t comes out off by sigmas[t] of them, inside the bound.
reference::Comparison OffBySigmas(int hidden, const std::vector<double>& sigmas) {
  constexpr double kSigma = 1.0 / 128;
  reference::MoeCteResult expected{.tokens = static_cast<int>(sigmas.size()), .hidden = hidden};
  std::vector<std::uint16_t> rows;
  for (const double off : sigmas) {
    // The reference moves, because bf16 has no place for so small a difference everywhere.
    expected.output.insert(expected.output.end(), hidden, 1 + off * kSigma);
    rows.insert(rows.end(), hidden, Bits(1));
  }
  expected.bound.assign(rows.size(), 1);
  expected.sigma.assign(rows.size(), kSigma);
  return reference::Compare(expected, rows.data());
}

TEST(MoeCteRefCompare, RejectsASystematicErrorInsideTheBounds) {
  for (const auto& [sigmas, pass] : {std::pair(2.1, false), std::pair(1.99, true)}) {
    const reference::Comparison comparison = OffBySigmas(32, {0, sigmas, 0});
    EXPECT_LE(comparison.max_bound_ratio, 1);
    EXPECT_EQ(comparison.pass, pass);
    EXPECT_EQ(comparison.failed, pass ? reference::Rule::kNone : reference::Rule::kRms);
    EXPECT_NEAR(comparison.max_rms_ratio, sigmas, 1e-9);
    EXPECT_EQ(comparison.worst_rms_token, 1);
  }
}

TEST(MoeCteRefCompare, RowsTooShortForAMeanAreTakenTogether) {
  std::vector<double> sigmas(17, 0.0);  // of two elements each: 16 rows, and one with them
  sigmas[3] = 3;
  EXPECT_TRUE(OffBySigmas(2, sigmas).pass);
  EXPECT_NEAR(OffBySigmas(2, sigmas).max_rms_ratio, 3 / std::sqrt(16), 1e-9);
  EXPECT_EQ(OffBySigmas(2, std::vector<double>(17, 2.1)).failed, reference::Rule::kRms);
  sigmas.assign(17, 0.0);
  sigmas[16] = 9;
  EXPECT_EQ(OffBySigmas(2, sigmas).failed, reference::Rule::kRms);
  EXPECT_NEAR(OffBySigmas(2, sigmas).max_rms_ratio, 9 / std::sqrt(17), 1e-9);
  EXPECT_EQ(OffBySigmas(2, sigmas).worst_rms_token, 16);
  // Fewer than 32 elements in all.
  EXPECT_TRUE(OffBySigmas(2, {9, 9}).pass);
}

TEST(MoeCteRefCompare, WithoutSigmaOnlyTheBoundIsARule) {
  reference::MoeCteResult expected = TwoByTwo();
  expected.sigma.clear();
  const std::vector<std::uint16_t> rows = {Bits(1.0625), Bits(-2.0625), Bits(0), Bits(4.0625)};
  EXPECT_TRUE(reference::Compare(expected, rows.data()).pass);
}

TEST(MoeCteRefCompare, RejectsNothingAndNothingButZeros) {
  EXPECT_EQ(reference::Compare({}, nullptr).failed, reference::Rule::kNothingCompared);
  reference::MoeCteResult zeros = TwoByTwo();
  zeros.output.assign(4, 0.0);
  const std::vector<std::uint16_t> rows(4, 0);
  EXPECT_EQ(reference::Compare(zeros, rows.data()).failed, reference::Rule::kOnlyZeros);
}

// Inside every bound and every sigma, and yet nothing came out.
TEST(MoeCteRefCompare, RejectsZerosEvenInsideTheBound) {
  reference::MoeCteResult expected = TwoByTwo();
  expected.bound.assign(4, 8);
  expected.sigma.assign(4, 4);
  const std::vector<std::uint16_t> rows(4, 0);
  const reference::Comparison comparison = reference::Compare(expected, rows.data());
  EXPECT_EQ(comparison.failed, reference::Rule::kOnlyZeros);
  EXPECT_DOUBLE_EQ(comparison.max_bound_ratio, 0.5);
  EXPECT_EQ(comparison.worst_expected, 4);
}

TEST(MoeCteRefCompare, RejectsMatchesThatMeasureNothing) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  reference::MoeCteResult expected = TwoByTwo();
  expected.output = {kNan, HUGE_VAL, kNan, -HUGE_VAL};
  const std::vector<std::uint16_t> rows = {0x7fc0, 0x7f80, 0x7fc0, 0xff80};
  EXPECT_EQ(reference::Compare(expected, rows.data()).failed, reference::Rule::kNothingCompared);
  // A number of no column of the model, or with an infinite bound, measures nothing either.
  expected.output = {kNan, 1, kNan, 1};
  expected.columns = 1;
  const std::vector<std::uint16_t> padding = {0x7fc0, Bits(1), 0x7fc0, Bits(1)};
  EXPECT_EQ(reference::Compare(expected, padding.data()).failed, reference::Rule::kNothingCompared);
  expected.columns = 0;
  EXPECT_TRUE(reference::Compare(expected, padding.data()).pass);
  expected.bound.assign(4, HUGE_VAL);
  EXPECT_EQ(reference::Compare(expected, padding.data()).failed, reference::Rule::kNothingCompared);
}

TEST(MoeCteRefCompare, NanMeetsNanAndInfMeetsInf) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  reference::MoeCteResult expected = TwoByTwo();
  expected.output = {kNan, HUGE_VAL, 1e39, 4};
  expected.bound = {kNan, kNan, 1e36, 0.1};
  const auto compare = [&](std::vector<std::uint16_t> rows) {
    return reference::Compare(expected, rows.data());
  };
  const reference::Comparison right = compare({0x7fc0, 0x7f80, 0x7f80, Bits(4)});
  EXPECT_TRUE(right.pass);
  EXPECT_EQ(right.count, 1);
  for (const std::vector<std::uint16_t>& wrong :
       {std::vector<std::uint16_t>{Bits(1), 0x7f80, 0x7f80, Bits(4)},
        {0x7f80, 0x7f80, 0x7f80, Bits(4)},
        {0x7fc0, 0xff80, 0x7f80, Bits(4)},
        {0x7fc0, 0x7f80, 0x7f80, 0x7fc0},
        {0x7fc0, 0x7f80, 0x7f7f, Bits(4)}}) {
    const reference::Comparison comparison = compare(wrong);
    EXPECT_EQ(comparison.failed, reference::Rule::kOutcome);
    EXPECT_EQ(comparison.wrong_outcomes, 1);
    EXPECT_TRUE(std::isfinite(comparison.max_bound_ratio));
  }
}

TEST(MoeCteRefCompare, AnElementMayHaveSeveralOutcomes) {
  reference::MoeCteResult expected = TwoByTwo();
  expected.outcomes.assign(4, reference::kFinite);
  expected.outcomes[0] = reference::kFinite | reference::kPositiveInf;
  const auto passes = [&](std::uint16_t bits) {
    const std::vector<std::uint16_t> rows = {bits, Bits(-2), Bits(0), Bits(4)};
    return reference::Compare(expected, rows.data()).pass;
  };
  EXPECT_TRUE(passes(Bits(1)));
  EXPECT_TRUE(passes(0x7f80));
  EXPECT_FALSE(passes(0xff80));
  EXPECT_FALSE(passes(0x7fc0));
  EXPECT_FALSE(passes(Bits(1.25)));
}

}  // namespace
}  // namespace bwmm
