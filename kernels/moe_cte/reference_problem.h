// The reference's view of a layer: the same tensors, its own types.
#pragma once

#include "kernels/inputs/block_layout.h"
#include "kernels/inputs/layer_data.h"
#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm {

// Points into `layer` and `blocks`, which must outlive it. The layer must have data.
reference::MoeCteProblem ReferenceProblem(const inputs::LayerConfig& config,
                                          const inputs::LayerTensors& layer,
                                          const inputs::BlockLayout& blocks);

}  // namespace bwmm
