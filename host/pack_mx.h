// One expert's real weights as x4 words with the scales of their groups.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "host/dense_experts.h"
#include "host/layer_data.h"
#include "model/numerics/scale_group.h"

namespace bwmm::host {

// Into the words and scales of an MX layout, by the rule of pack_weights.h.
void PackMxWeights(LayerTensors& layer, const DenseExperts& experts, int expert);

// Codes and scale of one scale group.
struct PackedGroup {
  std::uint8_t scale = 0;
  std::array<std::uint8_t, kMxGroup.elements()> codes = {};
};
PackedGroup QuantizeGroup(std::span<const float> values, WeightLayout layout);

}  // namespace bwmm::host
