#include "host/layer_data.h"

#include <unistd.h>

#include <algorithm>
#include <span>

#include "host/dense_experts.h"
#include "host/join.h"
#include "host/pack_weights.h"
#include "host/packed_experts.h"
#include "host/random.h"
#include "host/seeded_weights.h"
#include "host/tensor_file.h"
#include "model/numerics/bf16.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

// Refuses before the allocation, so that the answer is a line and not a killed process.
void RequireHostMemory(std::int64_t bytes) {
  const std::int64_t memory =
      std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGESIZE)};
  if (bytes > memory / 4 * 3) {
    throw SimError(
        "layer tensors need {:.1f} GB, the host has {:.1f} GB: lower model.experts, or use the "
        "timing fidelity, which needs no tensor data",
        1e-9 * static_cast<double>(bytes), 1e-9 * static_cast<double>(memory));
  }
}

void DeclareTensors(LayerTensors& layer, const LayerConfig& config) {
  const LayerShape& s = layer.shape;
  const std::int64_t e = s.experts;
  const std::int64_t h = s.hidden_padded;
  const std::int64_t i = s.intermediate_padded;
  const std::int64_t th = s.hidden_tiles();
  const std::int64_t ti = s.intermediate_tiles();
  const auto shape_only = [](const char* name, DType dtype, std::vector<std::int64_t> shape) {
    return HostTensor::Zeros(name, dtype, std::move(shape), false);
  };
  const DType weight = WeightDType(layer.layout);
  const bool mx = IsMx(layer.layout);
  layer.hidden = shape_only("hidden_states", DType::kBf16, {layer.tokens + 1, h});
  layer.affinities = shape_only("expert_affinities", mx ? DType::kFp32 : DType::kBf16,
                                {(layer.tokens + 1) * e, 1});
  if (mx) {
    layer.gate_up_weight = shape_only("gate_up_weight", weight, {e, kPartitions, 2, th, i});
    layer.down_weight = shape_only("down_weight", weight, {e, kPartitions, ti, h});
    layer.gate_up_scale = shape_only("gate_up_scale", DType::kE8M0, {e, kScaleRows, 2, th, i});
    layer.down_scale = shape_only("down_scale", DType::kE8M0, {e, kScaleRows, ti, h});
  } else {
    layer.gate_up_weight = shape_only("gate_up_weight", weight, {e, h, 2, i});
    layer.down_weight = shape_only("down_weight", weight, {e, i, h});
  }
  if (layer.layout == WeightLayout::kFp8) {
    layer.gate_up_scale = shape_only("gate_up_scale", DType::kFp32, {e, 1, 2 * i});
    layer.down_scale = shape_only("down_scale", DType::kFp32, {e, 1, h});
  }
  if (config.gate_up_bias) {
    layer.gate_up_bias = shape_only("gate_up_bias", DType::kBf16,
                                    mx ? std::vector<std::int64_t>{e, kPartitions, 2, ti, kLanes}
                                       : std::vector<std::int64_t>{e, 2, i});
  }
  if (config.down_bias)
    layer.down_bias = shape_only("down_bias", DType::kBf16, {e, h});
}

template <typename Visit>
void ForEachTensor(LayerTensors& layer, const Visit& visit) {
  for (HostTensor* tensor :
       {&layer.hidden, &layer.affinities, &layer.gate_up_weight, &layer.down_weight})
    visit(*tensor);
  for (auto* tensor :
       {&layer.gate_up_scale, &layer.down_scale, &layer.gate_up_bias, &layer.down_bias}) {
    if (*tensor)
      visit(**tensor);
  }
}

void FillHidden(LayerTensors& layer, const LayerConfig& config, std::uint64_t seed) {
  const LayerShape& s = layer.shape;
  std::vector<float> rows;
  if (!config.hidden_file.empty()) {
    const HostTensor tensor = LoadTensor(ParseTensorSpec(config.hidden_file), {DType::kBf16});
    if (tensor.shape.empty() || tensor.shape.back() != s.hidden ||
        tensor.elements() / s.hidden < layer.tokens) {
      throw SimError("{}: shape [{}], {} rows of {} are needed", config.hidden_file,
                     Join(tensor.shape), layer.tokens, s.hidden);
    }
    rows = ToFloats(tensor);
  }
  const auto words = layer.hidden.words<std::uint16_t>();
  Random random(seed, 3);
  for (std::size_t t = 0; t < static_cast<std::size_t>(layer.tokens); ++t) {
    ThrowIfInterrupted();
    for (int h = 0; h < s.hidden; ++h) {
      const float value =
          rows.empty() ? static_cast<float>(random.Normal()) : rows[t * s.hidden + h];
      words[t * s.hidden_padded + h] = Bf16::RoundFrom(value).bits();
    }
  }
}

// The weights of a token's slots summed per expert, so that an expert named twice counts twice.
void FillAffinities(LayerTensors& layer, const Routing& routing) {
  std::vector<float> sums(static_cast<std::size_t>(layer.affinities.elements()), 0.0f);
  for (std::size_t k = 0; k < routing.expert.size(); ++k) {
    if (routing.expert[k] != kUnusedSlot)
      sums[k / routing.top_k * routing.experts + routing.expert[k]] += routing.weight[k];
  }
  if (layer.affinities.dtype == DType::kFp32) {
    std::ranges::copy(sums, layer.affinities.words<float>().begin());
    return;
  }
  std::ranges::transform(sums, layer.affinities.words<std::uint16_t>().begin(),
                         [](float sum) { return Bf16::RoundFrom(sum).bits(); });
}

}  // namespace

std::int64_t LayerTensors::weight_bytes() const {
  return gate_up_weight.bytes() + down_weight.bytes() +
         (gate_up_scale ? gate_up_scale->bytes() : 0) + (down_scale ? down_scale->bytes() : 0);
}

LayerTensors BuildLayer(const LayerConfig& config, const Routing& routing, WeightLayout layout,
                        std::uint64_t seed, bool with_data, int least_mx_tiles) {
  ValidateLayerConfig(config);
  if (routing.experts != config.experts) {
    throw SimError("routing has {} experts, model {} has {}", routing.experts, config.name,
                   config.experts);
  }
  LayerTensors layer;
  layer.shape = ShapeOf(config, layout, least_mx_tiles);
  layer.layout = layout;
  layer.tokens = routing.tokens;
  DeclareTensors(layer, config);
  if (!with_data)
    return layer;
  std::int64_t bytes = 0;
  ForEachTensor(layer, [&](const HostTensor& tensor) { bytes += tensor.bytes(); });
  RequireHostMemory(bytes);
  ForEachTensor(layer, [](HostTensor& tensor) { tensor.data.resize(tensor.bytes()); });

  FillHidden(layer, config, seed);
  FillAffinities(layer, routing);
  if (config.weights_file.empty()) {
    FillSeededWeights(layer, seed);
    PackBiases(layer, SeededBiases(config, seed), config.up_offset);
  } else if (HoldsPackedExperts(config.weights_file)) {
    LoadPackedExperts(layer, config.weights_file);
  } else {
    const DenseExperts experts = LoadDenseExperts(config.weights_file, config);
    PackDenseWeights(layer, experts);
    PackBiases(layer, experts.biases, config.up_offset);
  }
  return layer;
}

}  // namespace bwmm::host
