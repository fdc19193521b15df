// What a layer leaves in its checkpoints, computed here from its inputs, one element at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::Routes;

constexpr double kBf16Step = 0x1p-8;  // half a unit in the last place, relative

// Two tiles of 128 channels to a core, two chunks of columns to a row; gate and up are clamped.
Layer CheckpointLayer(MoECTEImplementation variant) {
  Layer layer = LayerOf(variant);
  layer.hidden = 1024;
  layer.intermediate = 512;
  layer.experts = 2;
  layer.biases = true;
  layer.clamps = true;
  layer.kernel.shard_on_I.checkpoint_activation = variant == MoECTEImplementation::shard_on_i;
  return layer;
}

class Checkpoints : public testing::TestWithParam<MoECTEImplementation> {
 protected:
  Checkpoints() { run_.Run(); }

  // Element `index` of a tensor of shape `sizes`.
  double At(const std::string& name, std::initializer_list<std::int64_t> sizes,
            std::initializer_list<std::int64_t> index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      at = at * sizes.begin()[d] + index.begin()[d];
    const std::vector<std::byte>& data = run_.job().tensor(name).data;
    std::uint16_t bits = 0;
    std::memcpy(&bits, &data.at(2 * at), 2);
    return LayerRun::FromBf16(bits);
  }

  // Calls f(block, row, token, expert) for each row of a token.
  template <typename F>
  void ForEachRow(F f) {
    const host::BlockLayout& layout = run_.job().layout();
    int rows = 0;
    for (std::int64_t n = 0; n < layout.blocks; ++n) {
      for (std::int64_t b = 0; b < layout.block_size; ++b) {
        const std::int64_t token = layout.token_position_to_id[n * layout.block_size + b];
        if (token < kTokens)
          f(n, b, token, layout.block_to_expert[n]), ++rows;
      }
    }
    ASSERT_EQ(rows, kTokens);
  }

  static constexpr int kTokens = 5;
  const Layer layer_ = CheckpointLayer(GetParam());
  LayerRun run_{layer_, Routes{{0}, {1}, {1}, {0}, {1}}};
  const std::int64_t h_ = layer_.hidden, i_ = layer_.intermediate, e_ = layer_.experts;
  const std::int64_t n_ = run_.job().layout().blocks, b_ = run_.job().layout().block_size;
};

TEST_P(Checkpoints, GateAndUpAreTheClampedSumsOfTheirChannel) {
  int clamped = 0;
  ForEachRow([&](std::int64_t n, std::int64_t b, std::int64_t token, std::int64_t expert) {
    for (const int half : {0, 1}) {
      for (std::int64_t i = 0; i < i_; i += 3) {
        double sum = At("gate_up_bias", {e_, 2, i_}, {expert, half, i});
        for (std::int64_t h = 0; h < h_; ++h)
          sum += At("hidden_states", {kTokens + 1, h_}, {token, h}) *
                 At("gate_up_weight", {e_, h_, 2, i_}, {expert, h, half, i});
        const double low = half == 0 ? -INFINITY : -0.5, high = half == 0 ? 0.75 : 1.0;
        clamped += sum < low || sum > high ? 1 : 0;
        const double expected = std::clamp(sum, low, high);
        ASSERT_NEAR(At("gate_up_activations_T", {n_, 2, i_, b_}, {n, half, i, b}), expected,
                    kBf16Step * std::fabs(expected) + 1e-5)
            << "block " << n << ", half " << half << ", channel " << i << ", row " << b;
      }
    }
  });
  EXPECT_GT(clamped, 0);
}

// Each token has one expert, so its row is affinity * (sum + bias).
TEST_P(Checkpoints, DownSumsAreTheOutputWithoutBiasAndAffinity) {
  constexpr double kAffinity = 0.5;
  ForEachRow([&](std::int64_t n, std::int64_t b, std::int64_t token, std::int64_t expert) {
    for (std::int64_t h = 0; h < h_; ++h) {
      const double sum = At("down_activations", {n_, b_, h_}, {n, b, h});
      const double biased = sum + At("down_bias", {e_, h_}, {expert, h});
      ASSERT_NEAR(run_.Out(token, h), kAffinity * biased, kBf16Step * std::fabs(biased))
          << "block " << n << ", row " << b << ", column " << h;
    }
  });
}

// A chunk leaves from a buffer of its own, so that the next ones need not wait for its store.
TEST_P(Checkpoints, FourChunksOfDownSumsAreUnderWayAtOnce) {
  std::vector<std::uint64_t> buffers;
  for (const isa::Instruction& each : run_.program(0)) {
    const auto* copy = std::get_if<isa::DmaCopy>(&each.body);
    if (copy != nullptr && LayerRun::IsIn(copy->dst, run_.job().tensor("down_activations")))
      buffers.push_back(copy->src.offset);
  }
  ASSERT_GE(buffers.size(), 4u);
  for (std::size_t i = 0; i + 4 <= buffers.size(); ++i)
    EXPECT_EQ(std::set(buffers.begin() + i, buffers.begin() + i + 4).size(), 4u) << "store " << i;
}

INSTANTIATE_TEST_SUITE_P(Dense, Checkpoints,
                         testing::Values(MoECTEImplementation::shard_on_i,
                                         MoECTEImplementation::shard_on_i_dropping),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace bwmm
