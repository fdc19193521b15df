// Real weights into the layouts of layer_shape.h: rounded to bf16 or quantised on the host.
#pragma once

#include "host/dense_experts.h"
#include "host/layer_data.h"

namespace bwmm::host {

// bf16 rounds to nearest even. fp8 scales each output channel so that its largest magnitude is 240.
// Of a scale group with a the largest magnitude, the scale is 2^(floor(log2 a) - 2) for
// e2m1 (the OCP floor rule, saturating at 6) and 2^(floor(log2 a) - (emax - 1)) for fp8 (the rule
// of quantize_mx, which never saturates); elements round to nearest even. A group of zeros has
// the scale 0x00. Values that are not finite are refused.
void PackDenseWeights(LayerTensors& layer, const DenseExperts& experts);

// Biases in the layout of the layer, bf16. `up_offset` is added to the real up biases.
void PackBiases(LayerTensors& layer, const ExpertBiases& biases, float up_offset);

}  // namespace bwmm::host
