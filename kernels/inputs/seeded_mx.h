// Seeded weights of the MX layouts: x4 words and scales.
#pragma once

#include <cstdint>

#include "kernels/inputs/layer_data.h"

namespace bwmm::inputs {

// As FillSeededWeights says (seeded_weights.h).
void FillSeededMx(LayerTensors& layer, std::uint64_t seed);

}  // namespace bwmm::inputs
