// The reference's view of a layer: the same tensors, its own types.
#pragma once

#include "host/block_layout.h"
#include "host/layer_data.h"
#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm {

reference::Function FunctionOf(Activation activation);

// Points into `layer` and `blocks`, which must outlive it. The layer must have data.
reference::MoeCteProblem ReferenceProblem(const host::LayerConfig& config,
                                          const host::LayerTensors& layer,
                                          const host::BlockLayout& blocks);

}  // namespace bwmm
