// A trained model end to end: real weights and activations through the loaders, the packers and the
// reference give the outputs that were computed from the checkpoint in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "host/block_layout.h"
#include "host/tensor_file.h"
#include "kernels/moe_cte/reference_problem.h"

namespace bwmm {
namespace {

using host::WeightLayout;

const std::filesystem::path kExample = BWMM_EXAMPLES "/stories260k";

// Largest relative error of a row, in the Euclidean norm.
double WorstRow(WeightLayout layout) {
  constexpr int kTokens = 1280;
  const host::LayerConfig config = host::LoadLayerConfig(kExample / "layer.toml");
  const host::Routing routing =
      host::LoadRoutingCsv(kExample / "routing.csv", kTokens, config.experts, config.top_k);
  const host::BlockLayout blocks = host::BuildBlockLayout(routing, {.block_size = 128});
  EXPECT_EQ(blocks.live_blocks, 10);
  const host::LayerTensors layer = host::BuildLayer(config, routing, layout, 0, true);
  const reference::MoeCteResult result =
      reference::RunMoeCte(ReferenceProblem(config, layer, blocks));
  const host::HostTensor expected = host::LoadTensor(kExample / "ffn_out.npy");
  EXPECT_EQ(expected.elements(), kTokens * config.hidden);
  double worst = 0;
  for (int t = 0; t < kTokens; ++t) {
    double error = 0;
    double size = 0;
    for (int h = 0; h < config.hidden; ++h) {
      const double want = expected.words<float>()[t * config.hidden + h];
      const double got = result.output[static_cast<std::size_t>(t) * result.hidden + h];
      error += (got - want) * (got - want);
      size += want * want;
    }
    EXPECT_GT(size, 0);
    worst = std::max(worst, std::sqrt(error / size));
  }
  return worst;
}

// Weights and inputs are rounded once: 2^-9 of each on average, a few of them add up.
TEST(Stories260k, Bf16WeightsGiveTheModelsOutputs) {
  EXPECT_LT(WorstRow(WeightLayout::kBf16), 0.02);
}

TEST(Stories260k, Fp8WeightsComeClose) {
  EXPECT_LT(WorstRow(WeightLayout::kFp8), 0.15);
}

// Both operands have 4 significant bits, so a typical error is 2^-5 of a row and the worst more.
TEST(Stories260k, MxFp8WeightsComeClose) {
  EXPECT_LT(WorstRow(WeightLayout::kMxfp8E4M3), 0.2);
}

TEST(Stories260k, MxFp4WeightsKeepMostOfIt) {
  EXPECT_LT(WorstRow(WeightLayout::kMxfp4), 0.6);
}

TEST(Routing, ExamplesAreWhatTheirModelsNeed) {
  const std::filesystem::path folder = BWMM_EXAMPLES "/routing";
  for (const auto& [file, model] : {std::pair{"olmoe_layer7.csv", "olmoe-1b-7b"},
                                    std::pair{"mixtral_layer15.csv", "mixtral-8x7b"}}) {
    const host::LayerConfig config = host::LayerPreset(model);
    const host::Routing routing =
        host::LoadRoutingCsv(folder / file, 1024, config.experts, config.top_k);
    EXPECT_TRUE(std::ranges::all_of(routing.expert, [](int e) { return e >= 0; }));
    EXPECT_TRUE(std::ranges::all_of(
        routing.weight, [&](float w) { return w == 1.0f / static_cast<float>(config.top_k); }));
  }
}

}  // namespace
}  // namespace bwmm
