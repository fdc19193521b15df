// Weights and scales of a layer from a seed, straight in their final form, and biases.
#pragma once

#include <cstdint>

#include "host/dense_experts.h"
#include "host/layer_data.h"

namespace bwmm::host {

// Codes are drawn from the quantised normal distribution; a group's scale is the power of two that
// gives the weights variance 1 / fan-in, or a neighbour of it. The tensors come in zeroed and keep
// their zeros in the padding. Every expert has its own random stream.
void FillSeededWeights(LayerTensors& layer, std::uint64_t seed);

// N(0, 1/16); empty where the configuration has no bias.
ExpertBiases SeededBiases(const LayerConfig& config, std::uint64_t seed);

}  // namespace bwmm::host
