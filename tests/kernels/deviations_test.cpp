// The values part of docs/deviations.md: each test fails on what the original kernels compute.
//
// Most layers here have zero hidden rows and gate/up biases, so that every expert's answer is its
// down bias and the output is known exactly: the sum of p * bias, or of the biases.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::BlockShardStrategy;
using kernels::MoECTEImplementation;
using testing_layers::kAllVariants;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::Routes;
using enum MoECTEImplementation;

constexpr std::array kDense = {shard_on_block, shard_on_i, shard_on_i_hybrid, shard_on_i_dropping};

void ExpectInsideTheBound(LayerRun& run) {
  const reference::Comparison comparison = run.job().Compare();
  EXPECT_TRUE(comparison.pass) << "bound ratio " << comparison.max_bound_ratio << ", rms ratio "
                               << comparison.max_rms_ratio << ", token " << comparison.worst_token
                               << ", column " << comparison.worst_column;
}

float Largest(const LayerRun& run, std::int64_t token) {
  float largest = 0;
  for (std::int64_t h = 0; h < run.hidden(); ++h)
    largest = std::max(largest, std::fabs(run.Out(token, h)));
  return largest;
}

// Every token on experts 0 and 1, and 2 without tokens; experts answer 3.
void ExpectOnlyBias(Layer layer, float expected) {
  layer.biases = true;
  layer.kernel.capacity_factor = 10;
  SCOPED_TRACE(layer.name);
  LayerRun run(layer, Routes(5, {0, 1}));
  run.Fill("hidden_states", 0);
  run.Fill("gate_up_bias", 0);
  run.Fill("down_bias", 3);
  run.Run();
  for (std::int64_t t = 0; t < run.tokens(); ++t) {
    for (std::int64_t h = 0; h < run.hidden(); ++h)
      ASSERT_EQ(run.Out(t, h), expected) << "token " << t << ", column " << h;
  }
}

TEST(Deviations, B1DownBiasIsAddedOnceInEveryVariant) {
  for (const auto variant : kAllVariants)
    ExpectOnlyBias(LayerOf(variant), 2 * 0.5f * 3);
}

TEST(Deviations, B1LargeDownBiasIsInsideTheBoundInTheIShardMxVariants) {
  for (const auto variant : {shard_on_i_mx, shard_on_i_mx_hybrid}) {
    Layer layer = LayerOf(variant);
    layer.biases = true;
    LayerRun run(layer);
    run.Fill("down_bias", 200);
    run.Run();
    ExpectInsideTheBound(run);
  }
}

TEST(Deviations, B2PreScaleWithSkippedTokensGivesEveryTokenItsOutput) {
  for (const auto variant : kAllVariants) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    layer.scaling = host::AffinityScaling::kPreScale;
    layer.kernel.skip_dma.skip_token = true;
    layer.kernel.capacity_factor = 10;
    LayerRun run(layer);
    run.Run();
    for (std::int64_t t = 0; t < run.tokens(); ++t)
      EXPECT_GT(Largest(run, t), 0) << "token " << t;
    ExpectInsideTheBound(run);
  }
}

TEST(Deviations, B5ChunkedIWithSkippedWeightsUsesTheRightChunk) {
  isa::Limits small;
  small.sbuf_bytes = 40 * 1024;  // I in chunks
  for (const auto variant : {shard_on_block, shard_on_i, shard_on_i_hybrid}) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    layer.intermediate = 2048;
    layer.experts = 1;
    layer.kernel.skip_dma.skip_weight = true;
    LayerRun run(layer, Routes(600, {0}), small);  // three blocks of one expert
    run.Run();
    const ops::HbmTensor& weights = run.job().tensor("gate_up_weight");
    std::size_t loads = 0;
    for (const isa::Instruction& each : run.program(0)) {
      const auto* copy = std::get_if<isa::DmaCopy>(&each.body);
      loads += copy != nullptr && LayerRun::IsIn(copy->src, weights) ? 1 : 0;
    }
    EXPECT_GT(loads, run.Blocks(0).size()) << "the test wants I in chunks";
    ExpectInsideTheBound(run);
  }
}

TEST(Deviations, B6DownBiasIsAddedUnscaledInPreScaleAndNoScale) {
  for (const auto variant : kAllVariants) {
    Layer layer = LayerOf(variant);
    layer.scaling = host::AffinityScaling::kPreScale;
    ExpectOnlyBias(layer, 2 * 3);
    layer.scaling = host::AffinityScaling::kNoScale;
    ExpectOnlyBias(layer, 2 * 3);
  }
}

TEST(Deviations, B7DroppingComputesEveryRowOfAnyCapacity) {
  for (const int tokens : {100, 256, 700, 1025, 1280, 1300}) {
    SCOPED_TRACE(tokens);
    Layer layer = LayerOf(shard_on_i_dropping);
    layer.experts = 2;
    layer.kernel.capacity_factor = 10;
    LayerRun run(layer, Routes(tokens, {1}));
    EXPECT_EQ(run.job().layout().block_size, (tokens + 255) / 256 * 256);
    run.Run();
    for (std::int64_t t = 0; t < tokens; ++t)
      ASSERT_GT(Largest(run, t), 0) << "token " << t;
    ExpectInsideTheBound(run);
  }
}

// 256 times larger scales must come out as `factor`, a power of two, times the result, to the bit.
void ExpectScaleApplied(const std::string& scale, float factor) {
  for (const auto variant : kDense) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    layer.weights = host::WeightLayout::kFp8;
    layer.activation = Activation::kIdentity;
    layer.kernel.capacity_factor = 10;
    LayerRun plain(layer), scaled(layer);
    scaled.Multiply(scale, 256);
    plain.Run();
    scaled.Run();
    for (std::int64_t t = 0; t < plain.tokens(); ++t) {
      for (std::int64_t h = 0; h < plain.hidden(); ++h)
        ASSERT_EQ(scaled.Out(t, h), factor * plain.Out(t, h)) << "token " << t << ", column " << h;
    }
    ExpectInsideTheBound(scaled);
  }
}

TEST(Deviations, B8GateUpScalesAreAppliedInEveryDenseVariant) {
  ExpectScaleApplied("gate_up_scale", 256 * 256);  // gate times up, the activation is x
}

TEST(Deviations, B9DownScalesAreAppliedInEveryDenseVariant) {
  ExpectScaleApplied("down_scale", 256);
}

TEST(Deviations, B10DownBiasIsScaledByTheAffinityWhenTheAffinityIsOnI) {
  for (const auto variant : {shard_on_i, shard_on_i_hybrid, shard_on_i_dropping}) {
    Layer layer = LayerOf(variant);
    layer.kernel.shard_on_I.expert_affinity_multiply_on_I = true;
    ExpectOnlyBias(layer, 2 * 0.5f * 3);
  }
}

TEST(Deviations, B12AnyNumberOfTokensLeavesPlane1Zero) {
  for (const auto variant : {shard_on_block, shard_on_block_mx}) {
    for (const int tokens : {1, 127, 128, 129, 255, 300}) {
      for (const bool skip_token : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{}, {} tokens, skip_token {}", NameOf(variant), tokens, skip_token));
        Layer layer = LayerOf(variant);
        layer.tokens = tokens;
        layer.kernel.skip_dma.skip_token = skip_token;
        LayerRun run(layer);
        run.Run();
        const ops::HbmTensor& output = run.job().tensor("output");
        const bool interleaved = variant == shard_on_block;
        const std::int64_t h = output.shape[2];
        const std::int64_t rows = output.shape[interleaved ? 0 : 1];
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::int64_t at = interleaved ? row * 2 + 1 : rows + row;
          for (std::int64_t byte = 0; byte < 2 * h; ++byte)
            ASSERT_EQ(output.data[at * 2 * h + byte], std::byte{0}) << "row " << row;
        }
        ExpectInsideTheBound(run);
      }
    }
  }
}

TEST(Deviations, B13OneBlockInAllRuns) {
  for (const auto variant : kAllVariants) {
    for (const int static_blocks : {0, 1}) {
      SCOPED_TRACE(fmt::format("{}, {} static", NameOf(variant), static_blocks));
      Layer layer = LayerOf(variant);
      layer.experts = 1;
      layer.kernel.shard_on_block.n_static_blocks = static_blocks;
      layer.kernel.shard_on_I.num_static_block = static_blocks;
      LayerRun run(layer, Routes(3, {0}));
      ASSERT_EQ(run.job().layout().blocks, 1);
      run.Run();
      EXPECT_GT(Largest(run, 2), 0);
      ExpectInsideTheBound(run);
    }
  }
}

TEST(Deviations, B18BothBlockStrategiesAreInsideTheBoundForOddAndEvenCounts) {
  for (const auto strategy : {BlockShardStrategy::kPingPong, BlockShardStrategy::kHiLo}) {
    for (const int experts : {4, 5}) {
      Layer layer = LayerOf(shard_on_block);
      layer.experts = experts;
      layer.kernel.shard_on_block.block_sharding_strategy = strategy;
      LayerRun run(layer);
      run.Run();
      ExpectInsideTheBound(run);
    }
  }
}

// Three static blocks: the original lets the core with one block run another one with affinity 0,
// and 0 * Inf is NaN.
TEST(Deviations, B19AnInfInOneTokenReachesNoOtherToken) {
  const Routes routes = {{0}, {1}, {2}, {0}, {1}, {2}, {0}, {1}, {2}};
  for (const auto variant : kAllVariants) {
    Layer layer = LayerOf(variant);
    layer.kernel.shard_on_block.n_static_blocks = 3;
    layer.kernel.capacity_factor = 10;
    LayerRun clean(layer, routes);
    clean.Run();
    for (const auto& [poisoned, poison] :
         {std::pair(0, INFINITY), std::pair(4, NAN), std::pair(8, -INFINITY)}) {
      SCOPED_TRACE(fmt::format("{}, {} in token {}", NameOf(variant), poison, poisoned));
      LayerRun hit(layer, routes);
      hit.SetRow("hidden_states", poisoned, clean.job().shape().hidden_padded, poison);
      hit.Run();
      for (std::int64_t t = 0; t < clean.tokens(); ++t) {
        if (t == poisoned) {
          EXPECT_FALSE(std::isfinite(hit.Out(t, 0)));
          continue;
        }
        for (std::int64_t h = 0; h < clean.hidden(); ++h)
          ASSERT_EQ(hit.Out(t, h), clean.Out(t, h)) << "token " << t << ", column " << h;
      }
    }
  }
}

TEST(Deviations, S5PreScaleHasOneMeaningInEveryVariant) {
  for (const auto variant : kAllVariants) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    layer.scaling = host::AffinityScaling::kPreScale;
    layer.biases = true;
    layer.clamps = true;
    LayerRun run(layer);
    run.Run();
    ExpectInsideTheBound(run);
  }
}

}  // namespace
}  // namespace bwmm
