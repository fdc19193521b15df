// Expert weights that are packed already: a .safetensors file with the tensors of layer_data.h as
// HBM holds them.
//
//   gate_up_weight, down_weight               x4 words, or fp8 or bf16 elements
//   gate_up_scale, down_scale                 MX: E8M0; fp8: fp32
//   gate_up_bias, down_bias                   bf16, where the layer has them, up_offset included
//
// Shapes are the padded ones of layer_shape.h. A scale group lies across partitions and
// lanes there, so another layout could not keep its scales.
#pragma once

#include <filesystem>

#include "host/layer_data.h"

namespace bwmm::host {

// Whether the file has a tensor gate_up_weight.
bool HoldsPackedExperts(const std::filesystem::path& path);

// Fills the weights, scales and biases of `layer`, whose shapes and types are declared. SimError
// for another shape or type, and for values that are not finite.
void LoadPackedExperts(LayerTensors& layer, const std::filesystem::path& path);

}  // namespace bwmm::host
