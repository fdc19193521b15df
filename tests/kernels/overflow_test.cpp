// Layers that leave the range of fp32 or bf16 on their way: the executor's result is right, and the
// reference, which follows the documented path, must say so; any other outcome must be wrong.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing_layers::kAllVariants;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::Routes;
using enum MoECTEImplementation;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  std::string name;
  std::function<void(LayerRun&)> change;
  std::function<void(Layer&)> configure = [](Layer&) {};
};

// Tokens 0 and 1 of six are changed, the rest stays what it was and is compared.
void Rows(LayerRun& run, const std::string& name, std::int64_t columns, float first, float second) {
  run.SetRow(name, 0, columns, first);
  run.SetRow(name, 1, columns, second);
}

void ScaleRows(LayerRun& run, float factor) {
  run.MultiplyRows("hidden_states", 512, 2, factor);
}

std::vector<Case> Cases() {
  const auto of = [](Activation activation) {
    return [=](Layer& layer) { layer.activation = activation; };
  };
  return {
      {"huge_equal_rows", [](LayerRun& run) { Rows(run, "hidden_states", 512, 3e38f, -3e38f); }},
      {"huge_rows_of_both_signs", [](LayerRun& run) { ScaleRows(run, 5e37f); }},
      {"rows_near_the_end_of_fp32", [](LayerRun& run) { ScaleRows(run, 2e36f); }},
      {"inf_rows", [](LayerRun& run) { Rows(run, "hidden_states", 512, kInf, -kInf); }},
      {"nan_row", [](LayerRun& run) { Rows(run, "hidden_states", 512, NAN, 1); }},
      {"relu_squared", [](LayerRun& run) { ScaleRows(run, 1e20f); }, of(Activation::kReluSquared)},
      {"relu_squared_near_the_end", [](LayerRun& run) { ScaleRows(run, 7e18f); },
       of(Activation::kReluSquared)},
      {"exp", [](LayerRun& run) { ScaleRows(run, 300); }, of(Activation::kExp)},
      {"identity_squares", [](LayerRun& run) { ScaleRows(run, 3e19f); }, of(Activation::kIdentity)},
      {"sigmoid_of_inf", [](LayerRun& run) { ScaleRows(run, 1e38f); }, of(Activation::kSigmoid)},
      {"clamped_inf", [](LayerRun& run) { ScaleRows(run, 1e38f); },
       [](Layer& layer) { layer.clamps = layer.biases = true; }},
      {"some_sums_of_the_down_projection", [](LayerRun& run) { ScaleRows(run, 1.2e19f); },
       of(Activation::kIdentity)},
      {"a_few_sums_of_the_down_projection", [](LayerRun& run) { ScaleRows(run, 5e18f); },
       of(Activation::kIdentity)},
      {"fp8", [](LayerRun& run) { ScaleRows(run, 1.2e19f); },
       [](Layer& layer) {
         layer.activation = Activation::kIdentity;
         layer.weights = host::WeightLayout::kFp8;
       }},
      {"mxfp8_e5m2", [](LayerRun& run) { ScaleRows(run, 5e18f); },
       [](Layer& layer) {
         layer.activation = Activation::kIdentity;
         if (IsMx(layer.variant))
           layer.weights = host::WeightLayout::kMxfp8E5M2;
       }},
      {"affinity_on_I",
       [](LayerRun& run) {
         ScaleRows(run, 1e18f);
         run.Multiply("expert_affinities", 1e4f);
       },
       [](Layer& layer) {
         layer.biases = true;
         if (!IsMx(layer.variant) && layer.variant != shard_on_block)
           layer.kernel.shard_on_I.expert_affinity_multiply_on_I = true;
       }},
      {"down_bias",
       [](LayerRun& run) {
         run.SetRow("down_bias", 0, 512, 2.5e38f);
         run.SetRow("down_bias", 1, 512, 2.5e38f);
         run.SetRow("down_bias", 2, 512, -2.5e38f);
       },
       [](Layer& layer) {
         layer.biases = true;
         layer.scaling = host::AffinityScaling::kNoScale;
       }},
      {"pre_scale", [](LayerRun& run) { ScaleRows(run, 1e38f); },
       [](Layer& layer) { layer.scaling = host::AffinityScaling::kPreScale; }},
      {"affinity",
       [](LayerRun& run) {
         ScaleRows(run, 1e18f);
         run.Multiply("expert_affinities", 1e4f);
       }},
  };
}

struct Seen {
  std::int64_t numbers = 0, infinities = 0, nans = 0, open = 0;
};

// Compares, then replaces each kind of result by every other one and compares again.
void ExpectRightAndNothingElse(LayerRun& run, Seen& seen) {
  const reference::MoeCteResult expected = run.job().Expected();
  const reference::Comparison comparison = run.job().CompareWith(expected);
  EXPECT_TRUE(comparison.pass) << "rule " << static_cast<int>(comparison.failed) << ", bound "
                               << comparison.max_bound_ratio << ", rms " << comparison.max_rms_ratio
                               << ", token " << comparison.worst_token << ", column "
                               << comparison.worst_column << ": " << comparison.worst_value
                               << ", expected " << comparison.worst_expected;
  if (expected.outcomes.empty())
    return;
  auto& output = run.job().hbm().Find("output");
  const std::size_t row_bytes = output.data.size() / static_cast<std::size_t>(output.shape[0]);
  const bool one_plane = output.shape.size() == 2;
  int mistakes = 0;
  for (std::size_t at = 0; at < expected.outcomes.size(); ++at) {
    const unsigned can = expected.outcomes[at];
    seen.open += (can & (can - 1)) != 0;
    seen.numbers += can == reference::kFinite;
    seen.infinities += can == reference::kPositiveInf || can == reference::kNegativeInf;
    seen.nans += can == reference::kNaN;
    if (!one_plane || at % 97 != 0)
      continue;
    std::byte* bits = &output.data[at / expected.hidden * row_bytes + at % expected.hidden * 2];
    std::uint16_t right = 0;
    std::memcpy(&right, bits, 2);
    for (const auto& [outcome, wrong] : {std::pair(reference::kFinite, std::uint16_t{0x7f7f}),
                                         std::pair(reference::kPositiveInf, std::uint16_t{0x7f80}),
                                         std::pair(reference::kNegativeInf, std::uint16_t{0xff80}),
                                         std::pair(reference::kNaN, std::uint16_t{0x7fc0})}) {
      if ((can & outcome) != 0)
        continue;
      std::memcpy(bits, &wrong, 2);
      ++mistakes;
      EXPECT_EQ(run.job().CompareWith(expected).failed, reference::Rule::kOutcome)
          << "element " << at << " can be " << can;
      std::memcpy(bits, &right, 2);
    }
  }
  if (one_plane) {
    EXPECT_GT(mistakes, 0);
  }
}

class Overflow : public testing::TestWithParam<MoECTEImplementation> {};

TEST_P(Overflow, OnTheDocumentedPathIsRightAndEverythingElseIsWrong) {
  Seen seen;
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    Layer layer = LayerOf(GetParam());
    each.configure(layer);
    layer.kernel.capacity_factor = 10;
    LayerRun run(layer, Routes{{0, 1}, {1, 2}, {0, 2}, {0, 1}, {2, 1}, {1, 0}});
    each.change(run);
    run.Run();
    Seen now;
    ExpectRightAndNothingElse(run, now);
    seen.numbers += now.numbers;
    seen.infinities += now.infinities;
    seen.nans += now.nans;
    seen.open += now.open;
  }
  EXPECT_GT(seen.numbers, 1000);
  EXPECT_GT(seen.infinities, 500);
  EXPECT_GT(seen.nans, 500);
  // What is left open must be rare, or the reference says nothing.
  EXPECT_LT(seen.open, (seen.infinities + seen.nans) / 4);
}

INSTANTIATE_TEST_SUITE_P(All, Overflow, testing::ValuesIn(kAllVariants),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace bwmm
