// Seeded weights of the MX layouts: x4 words and scales.
#pragma once

#include <cstdint>

#include "host/layer_data.h"

namespace bwmm::host {

// As FillSeededWeights says (seeded_weights.h).
void FillSeededMx(LayerTensors& layer, std::uint64_t seed);

}  // namespace bwmm::host
