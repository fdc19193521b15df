// Codes and scales of weights at the ends of their ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "host/layer_data.h"
#include "host/pack_mx.h"
#include "host/pack_weights.h"

namespace bwmm::host {
namespace {

constexpr int kE4M3Of240 = 0x77;  // 1.875 * 2^7
constexpr int kE4M3Of448 = 0x7e;  // 1.75 * 2^8

TEST(WeightCodes, ScalesEndAtTwoToTheMinus127) {
  // 2^-130 is 2^-3 of the smallest scale: an element e2m1 rounds to zero, and fp8 keeps.
  std::array<float, 32> values{};
  values[5] = 0x1p-130f;
  const PackedGroup fp4 = QuantizeGroup(values, WeightLayout::kMxfp4);
  EXPECT_EQ(fp4.scale, 0);
  EXPECT_EQ(fp4.codes[5], 0);
  const PackedGroup e4m3 = QuantizeGroup(values, WeightLayout::kMxfp8E4M3);
  EXPECT_EQ(e4m3.scale, 0);
  EXPECT_EQ(e4m3.codes[5], (7 - 3) << 3);  // 2^-3
  const PackedGroup e5m2 = QuantizeGroup(values, WeightLayout::kMxfp8E5M2);
  EXPECT_EQ(e5m2.scale, 0);
  EXPECT_EQ(e5m2.codes[5], (15 - 3) << 2);
  // One binade above the end of the range nothing is clamped: 2^-125 is 2^2 of 2^-127.
  values[5] = 0x1p-125f;
  EXPECT_EQ(QuantizeGroup(values, WeightLayout::kMxfp4).scale, 0);
  EXPECT_EQ(QuantizeGroup(values, WeightLayout::kMxfp4).codes[5], 6);  // 4
  values[5] = 0x1p-124f;
  EXPECT_EQ(QuantizeGroup(values, WeightLayout::kMxfp4).scale, 1);
}

// Magnitude codes of the drawn weights: words of the gate and up weights, byte by byte.
int LargestCode(WeightLayout layout) {
  const LayerConfig config{.hidden = 1024, .intermediate = 1024, .experts = 1, .top_k = 1};
  const LayerTensors layer =
      BuildLayer(config, GenerateRouting(config.RoutingFor(1, 1)), layout, 1, true);
  int largest = 0;
  for (const std::byte code : layer.gate_up_weight.data)
    largest = std::max(largest, static_cast<int>(code) & 0x7f);
  return largest;
}

TEST(WeightCodes, SeededFp8StaysInWhatBothGenerationsShareAndMxfp8UsesItsWholeRange) {
  EXPECT_EQ(LargestCode(WeightLayout::kFp8), kE4M3Of240);
  // Two million draws of sigma 64 pass 240 (3.75 sigma) hundreds of times and 448 (7 sigma) never.
  const int mx = LargestCode(WeightLayout::kMxfp8E4M3);
  EXPECT_GT(mx, kE4M3Of240);
  EXPECT_LE(mx, kE4M3Of448);
}

TEST(WeightCodes, PackedFp8ChannelsReach240) {
  const LayerConfig config{.hidden = 512, .intermediate = 16, .experts = 1, .top_k = 1};
  LayerTensors layer =
      BuildLayer(config, GenerateRouting(config.RoutingFor(1, 1)), WeightLayout::kFp8, 1, true);
  DenseExperts dense;
  for (auto* rows : {&dense.gate, &dense.up, &dense.down})
    rows->assign(512 * 16, 0.0f);
  // Channel i of gate: one element of 3 * 2^i, and one of half that with the other sign.
  for (int i = 0; i < 16; ++i) {
    dense.gate[i * 512 + i] = std::ldexp(3.0f, i);
    dense.gate[i * 512 + i + 100] = -std::ldexp(1.5f, i);
  }
  PackDenseWeights(layer, dense);
  const auto codes = layer.gate_up_weight.words<std::uint8_t>();
  const auto scales = layer.gate_up_scale->words<float>();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(codes[i * 2 * 16 + i], kE4M3Of240) << i;
    EXPECT_EQ(codes[(i + 100) * 2 * 16 + i], 0x80 | (kE4M3Of240 - 8)) << i;
    EXPECT_NEAR(scales[i] * 240, std::ldexp(3.0, i), std::ldexp(1e-6, i)) << i;
  }
}

}  // namespace
}  // namespace bwmm::host
