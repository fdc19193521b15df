// The tensors of a layer: sizes, zeros in the padding, seeded values, real weights.
#include "host/layer_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "host/dense_experts.h"
#include "host/tensor_file.h"
#include "tests/host/small_layer.h"
#include "tests/host/temp_dir.h"
#include "tests/host/unpacked_weights.h"

namespace bwmm::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LayerTensors Build(const LayerConfig& config, WeightLayout layout, std::uint64_t seed = 1,
                   bool with_data = true) {
  return BuildLayer(config, GenerateRouting(config.RoutingFor(3, seed)), layout, seed, with_data);
}

TEST(LayerData, ShapesAreTheKernels) {
  const LayerTensors mx = Build(LayerPreset("gpt-oss-20b"), WeightLayout::kMxfp4, 1, false);
  EXPECT_EQ(mx.shape.hidden_padded, 3072);
  EXPECT_EQ(mx.shape.intermediate_padded, 3072);
  EXPECT_NEAR(mx.shape.padding_fraction(), 1 - 2880.0 * 2880 / (3072.0 * 3072), 1e-12);
  EXPECT_THAT(mx.hidden.shape, ElementsAre(4, 3072));
  EXPECT_THAT(mx.affinities.shape, ElementsAre(4 * 32, 1));
  EXPECT_EQ(mx.affinities.dtype, DType::kFp32);
  EXPECT_THAT(mx.gate_up_weight.shape, ElementsAre(32, 128, 2, 6, 3072));
  EXPECT_THAT(mx.gate_up_scale->shape, ElementsAre(32, 16, 2, 6, 3072));
  EXPECT_THAT(mx.down_weight.shape, ElementsAre(32, 128, 6, 3072));
  EXPECT_THAT(mx.down_scale->shape, ElementsAre(32, 16, 6, 3072));
  EXPECT_THAT(mx.gate_up_bias->shape, ElementsAre(32, 128, 2, 6, 4));
  EXPECT_THAT(mx.down_bias->shape, ElementsAre(32, 3072));
  EXPECT_FALSE(mx.gate_up_weight.has_data());

  const LayerTensors bf16 = Build(LayerPreset("qwen3-30b-a3b"), WeightLayout::kBf16, 1, false);
  EXPECT_THAT(bf16.gate_up_weight.shape, ElementsAre(128, 2048, 2, 768));
  EXPECT_THAT(bf16.down_weight.shape, ElementsAre(128, 768, 2048));
  EXPECT_EQ(bf16.affinities.dtype, DType::kBf16);
  EXPECT_FALSE(bf16.gate_up_scale || bf16.gate_up_bias || bf16.down_bias);
  EXPECT_EQ(bf16.shape.padding_fraction(), 0);

  const LayerTensors fp8 = Build(SmallConfig(), WeightLayout::kFp8, 1, false);
  EXPECT_THAT(fp8.gate_up_weight.shape, ElementsAre(2, 1024, 2, 704));
  EXPECT_THAT(fp8.gate_up_scale->shape, ElementsAre(2, 1, 1408));
  EXPECT_THAT(fp8.gate_up_bias->shape, ElementsAre(2, 2, 704));
  EXPECT_THAT(fp8.down_scale->shape, ElementsAre(2, 1, 1024));
}

// Sum of squares of the real part of the weights; everything else must be exactly zero.
struct Energy {
  double gate_up = 0;
  double down = 0;
};

Energy ExpectZeroPadding(const LayerConfig& config, const LayerTensors& layer) {
  const UnpackedWeights weights(layer);
  Energy energy;
  for (int e = 0; e < config.experts; ++e) {
    for (int i = 0; i < layer.shape.intermediate_padded; ++i) {
      for (int h = 0; h < layer.shape.hidden_padded; ++h) {
        const double gate = weights.GateUp(e, 0, h, i);
        const double up = weights.GateUp(e, 1, h, i);
        const double down = weights.Down(e, i, h);
        energy.gate_up += gate * gate + up * up;
        energy.down += down * down;
        if (h >= config.hidden || i >= config.intermediate) {
          EXPECT_EQ(gate, 0);
          EXPECT_EQ(up, 0);
          EXPECT_EQ(down, 0);
        }
      }
    }
  }
  return energy;
}

TEST(LayerData, SeededWeightsHaveVarianceOneOverFanInAndZeroPadding) {
  const LayerConfig config = SmallConfig();
  const double count = 2.0 * config.hidden * config.intermediate;
  for (const WeightLayout layout : kLayouts) {
    const Energy energy = ExpectZeroPadding(config, Build(config, layout));
    // A power-of-two scale is off by up to sqrt 2, and its spread adds a quarter.
    const bool mx = IsMx(layout);
    const double gate_up = energy.gate_up / (2 * count) * config.hidden;
    const double down = energy.down / count * config.intermediate;
    EXPECT_GT(gate_up, mx ? 0.5 : 0.9) << NameOf(layout);
    EXPECT_LT(gate_up, mx ? 2.6 : 1.1) << NameOf(layout);
    EXPECT_GT(down, mx ? 0.5 : 0.9) << NameOf(layout);
    EXPECT_LT(down, mx ? 2.6 : 1.1) << NameOf(layout);
  }
}

TEST(LayerData, BlocksOfPaddingHaveTheZeroScaleAndRealOnesDoNot) {
  const LayerConfig config = SmallConfig();
  const LayerTensors layer = Build(config, WeightLayout::kMxfp4);
  const auto scales = layer.down_scale->words<std::uint8_t>();
  for (int row = 0; row < 16; ++row) {
    for (int tile = 0; tile < 2; ++tile) {
      for (int h = 0; h < 1024; ++h) {
        const bool real = h < 600 && tile * 512 + row * 8 < 700;
        EXPECT_EQ(scales[(row * 2 + tile) * 1024 + h] != 0, real);
      }
    }
  }
}

std::uint64_t HashOf(const LayerTensors& layer) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const HostTensor& tensor) {
    for (const std::byte byte : tensor.data)
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  };
  for (const HostTensor* tensor :
       {&layer.hidden, &layer.affinities, &layer.gate_up_weight, &layer.down_weight})
    add(*tensor);
  for (const auto* tensor :
       {&layer.gate_up_scale, &layer.down_scale, &layer.gate_up_bias, &layer.down_bias}) {
    if (*tensor)
      add(**tensor);
  }
  return hash;
}

TEST(LayerData, SameSeedSameBytesForEver) {
  const std::array<std::uint64_t, 5> pinned = {2982791798529781179u, 2451872602434712801u,
                                               10493296949876935614u, 11021369385348576104u,
                                               3428902373768911956u};
  for (std::size_t k = 0; k < pinned.size(); ++k) {
    const std::uint64_t hash = HashOf(Build(SmallConfig(), kLayouts[k], 5));
    EXPECT_EQ(hash, pinned[k]) << NameOf(kLayouts[k]);
    EXPECT_NE(HashOf(Build(SmallConfig(), kLayouts[k], 6)), hash);
  }
}

TEST(LayerData, SinkRowAndUnroutedAffinitiesAreZero) {
  const LayerConfig config = SmallConfig();
  const Routing routing{
      .tokens = 2, .experts = 2, .top_k = 2, .expert = {1, -1, 0, 0}, .weight = {0.5, 0, 0.25, 1}};
  const LayerTensors layer = BuildLayer(config, routing, WeightLayout::kMxfp4, 1, true);
  EXPECT_THAT(layer.affinities.words<float>(), ElementsAre(0, 0.5f, 1.25f, 0, 0, 0));
  const auto hidden = layer.hidden.words<std::uint16_t>();
  EXPECT_TRUE(std::ranges::all_of(hidden.subspan(2 * 1024), [](auto bits) { return bits == 0; }));
  EXPECT_NE(hidden[0], 0);
  EXPECT_EQ(hidden[600], 0) << "padding of H";
}

TEST(LayerData, BiasesKeepTheirPlaceAndTheOffsetGoesToUp) {
  for (const WeightLayout layout : {WeightLayout::kBf16, WeightLayout::kMxfp4}) {
    const LayerTensors layer_with = Build(SmallConfig(), layout);
    const UnpackedWeights with(layer_with);
    LayerConfig without_offset = SmallConfig();
    without_offset.up_offset = 0;
    const LayerTensors layer = Build(without_offset, layout);
    const UnpackedWeights without(layer);
    for (int i = 0; i < layer.shape.intermediate_padded; ++i) {
      const bool real = i < 700;
      EXPECT_EQ(with.GateUpBias(1, 0, i), without.GateUpBias(1, 0, i));
      EXPECT_NEAR(with.GateUpBias(1, 1, i), without.GateUpBias(1, 1, i) + real, 0.01);
      EXPECT_EQ(without.GateUpBias(1, 0, i) == 0, !real);
    }
  }
}

// Random dense weights in a file, with one whole block of zeros and one large outlier.
LayerConfig WriteDenseWeights(const TempDir& dir, DenseExperts& dense) {
  LayerConfig config = SmallConfig();
  config.experts = 1;
  config.up_offset = 0.5f;
  std::uint32_t state = 1;
  const auto next = [&] {
    state = state * 1664525 + 1013904223;
    return static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-33f;
  };
  const auto tensor = [&](const char* name, std::vector<float>& values,
                          std::vector<std::int64_t> shape) {
    HostTensor out = HostTensor::Zeros(name, DType::kFp32, std::move(shape));
    for (float& value : out.words<float>())
      value = next();
    values.assign(out.words<float>().begin(), out.words<float>().end());
    return out;
  };
  const std::int64_t h = config.hidden;
  const std::int64_t i = config.intermediate;
  std::vector<HostTensor> tensors;
  tensors.push_back(tensor("gate_proj", dense.gate, {1, i, h}));
  tensors.push_back(tensor("up_proj", dense.up, {1, i, h}));
  tensors.push_back(tensor("down_proj", dense.down, {1, h, i}));
  tensors.push_back(tensor("gate_bias", dense.biases.gate, {1, i}));
  tensors.push_back(tensor("up_bias", dense.biases.up, {1, i}));
  tensors.push_back(tensor("down_bias", dense.biases.down, {1, h}));
  // Row 3 of gate: zeros from h = 0 to 7 in every lane (stride 256), an outlier elsewhere.
  for (int w = 0; w < 4; ++w) {
    for (int p = 0; p < 8 && w * 256 + p < h; ++p)
      dense.gate[3 * h + w * 256 + p] = 0;
  }
  dense.gate[3 * h + 20] = 1000;
  std::ranges::copy(dense.gate, tensors[0].words<float>().begin());
  SaveTensors(dir / "w.safetensors", tensors);
  config.weights_file = (dir / "w.safetensors").string();
  return config;
}

// Largest magnitude of the block of 32 that holds gate element (i, h).
double BlockMax(const std::vector<float>& rows, int row, int length, int place,
                const std::function<int(int, int)>& index) {
  double largest = 0;
  for (int j = 0; j < 8; ++j) {
    for (int w = 0; w < 4; ++w) {
      const int at = index(place + j, w);
      if (at < length)
        largest = std::max(largest, std::abs(double{rows[row * length + at]}));
    }
  }
  return largest;
}

TEST(LayerData, RealWeightsAreWithinHalfAStepOfTheFile) {
  const TempDir dir;
  DenseExperts dense;
  const LayerConfig config = WriteDenseWeights(dir, dense);
  for (const WeightLayout layout : kLayouts) {
    const LayerTensors layer = Build(config, layout);
    const UnpackedWeights weights(layer);
    ExpectZeroPadding(config, layer);
    const int h_padded = layer.shape.hidden_padded;
    for (int i = 0; i < config.intermediate; ++i) {
      for (int h = 0; h < config.hidden; ++h) {
        const double want = dense.gate[i * config.hidden + h];
        const double got = weights.GateUp(0, 0, h, i);
        double tolerance = std::abs(want) * 0x1p-8;
        if (layout == WeightLayout::kFp8)
          tolerance = std::abs(want) / 16 + std::abs(i == 3 ? 1000 : 0.25) / 240 * 0x1p-10;
        if (IsMx(layout)) {
          const int quarter = h_padded / 4;
          const double amax = BlockMax(dense.gate, i, config.hidden, h % quarter / 8 * 8,
                                       [&](int p, int w) { return w * quarter + p; });
          const double binade = amax == 0 ? 0 : std::exp2(std::floor(std::log2(amax)));
          // fp4 of the top binade saturates at 6/4; fp8 keeps 2^-4 (e4m3) or 2^-3 (e5m2) of a
          // value, and steps of the smallest subnormal below that.
          tolerance =
              layout == WeightLayout::kMxfp4
                  ? (std::abs(want) > 1.5 * binade ? std::abs(want) - 1.5 * binade
                                                   : std::max(std::abs(want), binade / 4) / 4)
              : layout == WeightLayout::kMxfp8E4M3 ? std::max(std::abs(want) / 16, binade * 0x1p-17)
                                                   : std::max(std::abs(want) / 8, binade * 0x1p-31);
        }
        ASSERT_NEAR(got, want, tolerance + 1e-12) << NameOf(layout) << " i " << i << " h " << h;
      }
    }
    for (int h = 0; h < config.hidden; h += 7) {
      for (int i = 0; i < config.intermediate; i += 5) {
        const double want = dense.down[h * config.intermediate + i];
        ASSERT_NEAR(weights.Down(0, i, h), want, layout == WeightLayout::kMxfp4 ? 0.07 : 0.02);
        const double up = dense.up[i * config.hidden + h];
        ASSERT_NEAR(weights.GateUp(0, 1, h, i), up, layout == WeightLayout::kMxfp4 ? 0.07 : 0.02);
      }
    }
    for (int i = 0; i < config.intermediate; ++i) {
      EXPECT_NEAR(weights.GateUpBias(0, 0, i), dense.biases.gate[i], 0.001);
      EXPECT_NEAR(weights.GateUpBias(0, 1, i), dense.biases.up[i] + 0.5, 0.004);
    }
    for (int h = 0; h < config.hidden; ++h)
      EXPECT_NEAR(weights.DownBias(0, h), dense.biases.down[h], 0.001);
  }
}

TEST(LayerData, RejectsWeightFilesThatDoNotFit) {
  const TempDir dir;
  DenseExperts dense;
  LayerConfig config = WriteDenseWeights(dir, dense);
  config.hidden = 599;
  EXPECT_THAT(ErrorOf([&] { Build(config, WeightLayout::kBf16); }),
              HasSubstr("'gate_proj' has shape [1, 700, 600], the model needs [1, 700, 599]"));
  config.hidden = 600;
  config.weights_file = dir.Write("w.bin", "short").string();
  EXPECT_THAT(ErrorOf([&] { Build(config, WeightLayout::kBf16); }), HasSubstr("no biases"));
  config.gate_up_bias = config.down_bias = false;
  config.up_offset = 0;
  EXPECT_THAT(ErrorOf([&] { Build(config, WeightLayout::kBf16); }), HasSubstr("5 bytes"));
  config.weights_file = "w.pt";
  EXPECT_THAT(ErrorOf([&] { Build(config, WeightLayout::kBf16); }), HasSubstr("extension '.pt'"));
}

TEST(LayerData, RejectsWeightsThatAreNotFinite) {
  const TempDir dir;
  DenseExperts dense;
  const LayerConfig config = WriteDenseWeights(dir, dense);
  std::vector<HostTensor> tensors = LoadTensors(dir / "w.safetensors");
  tensors[1].words<float>()[17] = NAN;
  SaveTensors(dir / "w.safetensors", tensors);
  EXPECT_THAT(ErrorOf([&] { Build(config, WeightLayout::kMxfp4); }),
              HasSubstr("up weights: element 17 is nan"));
}

TEST(LayerData, HiddenRowsComeFromAFile) {
  const TempDir dir;
  LayerConfig config = SmallConfig();
  HostTensor rows = HostTensor::Zeros("rows", DType::kFp32, {2, 2, 600});
  rows.words<float>()[600 + 4] = 1.5f;
  SaveTensor(dir / "h.npy", rows);
  config.hidden_file = (dir / "h.npy").string();
  const LayerTensors layer = Build(config, WeightLayout::kBf16);
  EXPECT_EQ(layer.hidden.words<std::uint16_t>()[1024 + 4], 0x3fc0);
  EXPECT_EQ(layer.hidden.words<std::uint16_t>()[1024 + 5], 0);

  // bf16, which NumPy has no word for, with and without its name.
  HostTensor halves = HostTensor::Zeros("rows", DType::kBf16, {3, 600});
  halves.words<std::uint16_t>()[600 + 4] = 0x4049;
  SaveTensor(dir / "h.npy", halves);
  for (const char* type : {"", ":bfloat16"}) {
    config.hidden_file = (dir / "h.npy").string() + type;
    EXPECT_EQ(Build(config, WeightLayout::kBf16).hidden.words<std::uint16_t>()[1024 + 4], 0x4049);
  }

  config.hidden_file = (dir / "h.npy").string();
  SaveTensor(dir / "h.npy", HostTensor::Zeros("rows", DType::kFp32, {2, 600}));
  EXPECT_THAT(ErrorOf([&] { Build(config, WeightLayout::kBf16); }),
              HasSubstr("shape [2, 600], 3 rows of 600 are needed"));
}

TEST(LayerData, RejectsRoutingOfAnotherModelAndLayersTooLargeForTheHost) {
  const LayerConfig config = SmallConfig();
  const Routing other = GenerateRouting({.tokens = 3, .experts = 5, .top_k = 1});
  EXPECT_THAT(ErrorOf([&] { BuildLayer(config, other, WeightLayout::kBf16, 1, true); }),
              HasSubstr("routing has 5 experts, model small has 2"));
  LayerConfig huge = config;
  huge.hidden = huge.intermediate = 65536;
  huge.experts = 512;
  EXPECT_THAT(ErrorOf([&] { Build(huge, WeightLayout::kBf16); }), HasSubstr("lower model.experts"));
}

}  // namespace
}  // namespace bwmm::host
