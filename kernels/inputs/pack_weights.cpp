#include "kernels/inputs/pack_weights.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/inputs/parallel.h"
#include "model/numerics/bf16.h"
#include "model/numerics/e8m0.h"
#include "model/numerics/encode.h"
#include "model/numerics/fp8.h"
#include "model/support/sim_error.h"

namespace bwmm::inputs {
namespace {

// W[expert](output channel, contraction index), zero outside the model's size.
class Matrix {
 public:
  Matrix(const std::vector<float>& values, int expert, int outputs, int inputs)
      : values_(values.data() + std::size_t(expert) * outputs * inputs),
        outputs_(outputs),
        inputs_(inputs) {}

  float operator()(int output, int input) const {
    return output < outputs_ && input < inputs_ ? values_[std::size_t(output) * inputs_ + input]
                                                : 0.0f;
  }

 private:
  const float* values_;
  int outputs_;
  int inputs_;
};

void RequireFinite(const std::vector<float>& values, const char* name) {
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad != values.end())
    throw SimError("{}: element {} is {}, finite weights are needed", name, bad - values.begin(),
                   *bad);
}

void PackBf16(LayerTensors& layer, const DenseExperts& experts, int e) {
  const LayerShape& s = layer.shape;
  const std::array halves = {Matrix(experts.gate, e, s.intermediate, s.hidden),
                             Matrix(experts.up, e, s.intermediate, s.hidden)};
  const auto gate_up = layer.gate_up_weight.words<std::uint16_t>();
  std::size_t at = std::size_t(e) * s.hidden_padded * 2 * s.intermediate_padded;
  for (int h = 0; h < s.hidden_padded; ++h) {
    for (const Matrix& matrix : halves) {
      for (int i = 0; i < s.intermediate_padded; ++i)
        gate_up[at++] = Bf16::RoundFrom(matrix(i, h)).bits();
    }
  }
  const Matrix matrix(experts.down, e, s.hidden, s.intermediate);
  const auto down = layer.down_weight.words<std::uint16_t>();
  at = std::size_t(e) * s.intermediate_padded * s.hidden_padded;
  for (int i = 0; i < s.intermediate_padded; ++i) {
    for (int h = 0; h < s.hidden_padded; ++h)
      down[at++] = Bf16::RoundFrom(matrix(h, i)).bits();
  }
}

// 240 is the largest magnitude whose codes e4m3fn and gen3's e4m3 share. A channel of zeros has
// the scale 0.
float ChannelScale(const Matrix& matrix, int output, int inputs) {
  float largest = 0;
  for (int i = 0; i < inputs; ++i)
    largest = std::max(largest, std::abs(matrix(output, i)));
  return largest / 240.0f;
}

std::uint8_t EncodeFp8(float value, float scale) {
  const float ratio = scale == 0 ? 0 : std::clamp(value / scale, -240.0f, 240.0f);
  return Fp8E4M3Fn::RoundFrom(ratio, Saturate::kYes).bits();
}

void PackFp8(LayerTensors& layer, const DenseExperts& experts, int e) {
  const LayerShape& s = layer.shape;
  const auto gate_up = layer.gate_up_weight.words<std::uint8_t>();
  const auto gate_up_scale = layer.gate_up_scale->words<float>();
  for (int half = 0; half < 2; ++half) {
    const Matrix matrix(half == 0 ? experts.gate : experts.up, e, s.intermediate, s.hidden);
    for (int i = 0; i < s.intermediate; ++i) {
      const float scale = ChannelScale(matrix, i, s.hidden);
      gate_up_scale[(std::size_t(e) * 2 + half) * s.intermediate_padded + i] = scale;
      for (int h = 0; h < s.hidden; ++h) {
        const std::size_t row = (std::size_t(e) * s.hidden_padded + h) * 2 + half;
        gate_up[row * s.intermediate_padded + i] = EncodeFp8(matrix(i, h), scale);
      }
    }
  }
  const Matrix matrix(experts.down, e, s.hidden, s.intermediate);
  const auto down = layer.down_weight.words<std::uint8_t>();
  const auto down_scale = layer.down_scale->words<float>();
  for (int h = 0; h < s.hidden; ++h) {
    const float scale = ChannelScale(matrix, h, s.intermediate);
    down_scale[std::size_t(e) * s.hidden_padded + h] = scale;
    for (int i = 0; i < s.intermediate; ++i)
      down[(std::size_t(e) * s.intermediate_padded + i) * s.hidden_padded + h] =
          EncodeFp8(matrix(h, i), scale);
  }
}

// Quantises a scale group and stores its words; returns its scale. The word of partition j lies at
// words[j * stride].
template <typename Word, typename Value>
std::uint8_t PackGroup(WeightLayout layout, Word* words, std::size_t stride, const Value& value) {
  constexpr int kBits = 8 * sizeof(Word) / kLanes;
  std::array<float, kGroupPartitions * kLanes> values;
  for (int j = 0; j < kGroupPartitions; ++j) {
    for (int w = 0; w < kLanes; ++w)
      values[j * kLanes + w] = value(j, w);
  }
  const PackedGroup group = QuantizeGroup(values, layout);
  for (int j = 0; j < kGroupPartitions; ++j) {
    std::uint64_t word = 0;
    for (int w = 0; w < kLanes; ++w)
      word |= std::uint64_t{group.codes[j * kLanes + w]} << (kBits * w);
    words[j * stride] = static_cast<Word>(word);
  }
  return group.scale;
}

template <typename Word>
void PackMx(LayerTensors& layer, const DenseExperts& experts, int e) {
  const LayerShape& s = layer.shape;
  const auto gate_up = layer.gate_up_weight.words<Word>();
  const auto gate_up_scale = layer.gate_up_scale->words<std::uint8_t>();
  const std::size_t gate_up_stride = s.GateUpRow(kPartitions, 0, 1, 0, 0);
  for (int row = 0; row < kScaleRows; ++row) {
    const int p = row * kGroupPartitions;
    for (int half = 0; half < 2; ++half) {
      const Matrix matrix(half == 0 ? experts.gate : experts.up, e, s.intermediate, s.hidden);
      for (int tile = 0; tile < s.hidden_tiles(); ++tile) {
        Word* words = &gate_up[s.GateUpRow(kPartitions, e, p, half, tile)];
        std::uint8_t* scales = &gate_up_scale[s.GateUpRow(kScaleRows, e, row, half, tile)];
        for (int i = 0; i < s.intermediate_padded; ++i) {
          scales[i] = PackGroup(layer.layout, words + i, gate_up_stride, [&](int j, int w) {
            return matrix(i, s.HiddenOf(p + j, tile, w));
          });
        }
      }
    }
  }
  const Matrix matrix(experts.down, e, s.hidden, s.intermediate);
  const auto down = layer.down_weight.words<Word>();
  const auto down_scale = layer.down_scale->words<std::uint8_t>();
  const std::size_t down_stride = s.DownRow(kPartitions, 0, 1, 0);
  for (int row = 0; row < kScaleRows; ++row) {
    const int p = row * kGroupPartitions;
    for (int tile = 0; tile < s.intermediate_tiles(); ++tile) {
      Word* words = &down[s.DownRow(kPartitions, e, p, tile)];
      std::uint8_t* scales = &down_scale[s.DownRow(kScaleRows, e, row, tile)];
      for (int h = 0; h < s.hidden_padded; ++h) {
        scales[h] = PackGroup(layer.layout, words + h, down_stride, [&](int j, int w) {
          return matrix(h, s.IntermediateOf(p + j, tile, w));
        });
      }
    }
  }
}

}  // namespace

PackedGroup QuantizeGroup(std::span<const float> values, WeightLayout layout) {
  float largest = 0;
  for (const float value : values)
    largest = std::max(largest, std::abs(value));
  // The OCP floor rule for e2m1, one binade of room for fp8.
  const DType words = WeightDType(layout);
  const int headroom = LargestExponent(words) - (layout == WeightLayout::kMxfp4 ? 0 : 1);
  const E8M0 scale = E8M0::ForLargest(largest, headroom);
  PackedGroup group{.scale = scale.bits()};
  for (std::size_t k = 0; k < values.size(); ++k)
    group.codes[k] = EncodeLane(words, values[k] * scale.Inverse());
  return group;
}

void PackDenseWeights(LayerTensors& layer, const DenseExperts& experts) {
  RequireFinite(experts.gate, "gate weights");
  RequireFinite(experts.up, "up weights");
  RequireFinite(experts.down, "down weights");
  ParallelFor(layer.shape.experts, [&](int e) {
    switch (layer.layout) {
      case WeightLayout::kBf16:
        PackBf16(layer, experts, e);
        break;
      case WeightLayout::kFp8:
        PackFp8(layer, experts, e);
        break;
      case WeightLayout::kMxfp4:
        PackMx<std::uint16_t>(layer, experts, e);
        break;
      case WeightLayout::kMxfp8E4M3:
      case WeightLayout::kMxfp8E5M2:
        PackMx<std::uint32_t>(layer, experts, e);
        break;
    }
  });
}

void PackBiases(LayerTensors& layer, const ExpertBiases& biases, float up_offset) {
  const LayerShape& s = layer.shape;
  if (layer.gate_up_bias) {
    const auto words = layer.gate_up_bias->words<std::uint16_t>();
    for (std::size_t k = 0; k < biases.gate.size(); ++k) {
      const std::size_t e = k / s.intermediate;
      const std::size_t i = k % s.intermediate;
      for (std::size_t half = 0; half < 2; ++half) {
        std::size_t at = (e * 2 + half) * s.intermediate_padded + i;
        if (IsMx(layer.layout)) {
          const std::size_t tile = i / kPackedRows;
          const std::size_t lane = i % kPackedRows / kPartitions;
          const std::size_t p = i % kPartitions;
          at = (((e * kPartitions + p) * 2 + half) * s.intermediate_tiles() + tile) * kLanes + lane;
        }
        const float value = half == 0 ? biases.gate[k] : biases.up[k] + up_offset;
        words[at] = Bf16::RoundFrom(value).bits();
      }
    }
  }
  if (layer.down_bias) {
    const auto words = layer.down_bias->words<std::uint16_t>();
    for (std::size_t k = 0; k < biases.down.size(); ++k)
      words[k / s.hidden * s.hidden_padded + k % s.hidden] = Bf16::RoundFrom(biases.down[k]).bits();
  }
}

}  // namespace bwmm::inputs
