#include "host/pack_mx.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/dense_matrix.h"
#include "model/numerics/e8m0.h"
#include "model/numerics/encode.h"
#include "model/support/check.h"

namespace bwmm::host {
namespace {

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
      const DenseMatrix matrix(half == 0 ? experts.gate : experts.up, e, s.intermediate, s.hidden);
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
  const DenseMatrix matrix(experts.down, e, s.hidden, s.intermediate);
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

void PackMxWeights(LayerTensors& layer, const DenseExperts& experts, int expert) {
  if (SizeOf(WeightDType(layer.layout)) == sizeof(std::uint16_t))
    PackMx<std::uint16_t>(layer, experts, expert);
  else
    PackMx<std::uint32_t>(layer, experts, expert);
}

}  // namespace bwmm::host
