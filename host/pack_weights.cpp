#include "host/pack_weights.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/dense_matrix.h"
#include "host/fp8_weight.h"
#include "host/pack_mx.h"
#include "host/parallel.h"
#include "model/numerics/bf16.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

void RequireFinite(const std::vector<float>& values, const char* name) {
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad != values.end())
    throw SimError("{}: element {} is {}, finite weights are needed", name, bad - values.begin(),
                   *bad);
}

void PackBf16(LayerTensors& layer, const DenseExperts& experts, int e) {
  const LayerShape& s = layer.shape;
  const std::array halves = {DenseMatrix(experts.gate, e, s.intermediate, s.hidden),
                             DenseMatrix(experts.up, e, s.intermediate, s.hidden)};
  const auto gate_up = layer.gate_up_weight.words<std::uint16_t>();
  std::size_t at = std::size_t(e) * s.hidden_padded * 2 * s.intermediate_padded;
  for (int h = 0; h < s.hidden_padded; ++h) {
    for (const DenseMatrix& matrix : halves) {
      for (int i = 0; i < s.intermediate_padded; ++i)
        gate_up[at++] = Bf16::RoundFrom(matrix(i, h)).bits();
    }
  }
  const DenseMatrix matrix(experts.down, e, s.hidden, s.intermediate);
  const auto down = layer.down_weight.words<std::uint16_t>();
  at = std::size_t(e) * s.intermediate_padded * s.hidden_padded;
  for (int i = 0; i < s.intermediate_padded; ++i) {
    for (int h = 0; h < s.hidden_padded; ++h)
      down[at++] = Bf16::RoundFrom(matrix(h, i)).bits();
  }
}

// A channel of zeros has the scale 0.
float ChannelScale(const DenseMatrix& matrix, int output, int inputs) {
  float largest = 0;
  for (int i = 0; i < inputs; ++i)
    largest = std::max(largest, std::abs(matrix(output, i)));
  return largest / kLargestFp8Weight;
}

std::uint8_t EncodeFp8(float value, float scale) {
  return EncodeFp8Weight(scale == 0 ? 0 : value / scale);
}

void PackFp8(LayerTensors& layer, const DenseExperts& experts, int e) {
  const LayerShape& s = layer.shape;
  const auto gate_up = layer.gate_up_weight.words<std::uint8_t>();
  const auto gate_up_scale = layer.gate_up_scale->words<float>();
  for (int half = 0; half < 2; ++half) {
    const DenseMatrix matrix(half == 0 ? experts.gate : experts.up, e, s.intermediate, s.hidden);
    for (int i = 0; i < s.intermediate; ++i) {
      const float scale = ChannelScale(matrix, i, s.hidden);
      gate_up_scale[(std::size_t(e) * 2 + half) * s.intermediate_padded + i] = scale;
      for (int h = 0; h < s.hidden; ++h) {
        const std::size_t row = (std::size_t(e) * s.hidden_padded + h) * 2 + half;
        gate_up[row * s.intermediate_padded + i] = EncodeFp8(matrix(i, h), scale);
      }
    }
  }
  const DenseMatrix matrix(experts.down, e, s.hidden, s.intermediate);
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

}  // namespace

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
      case WeightLayout::kMxfp8E4M3:
      case WeightLayout::kMxfp8E5M2:
        PackMxWeights(layer, experts, e);
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

}  // namespace bwmm::host
