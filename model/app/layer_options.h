// The options of `bwmm run` as one layer: model, variant, block size and kernel options, each of
// which changes something in the run, or is refused.
#pragma once

#include "model/app/layer_command.h"
#include "model/app/layer_job.h"
#include "model/system/machine_config.h"

namespace bwmm::app {

// SimError on unknown keys, on values out of range, and on a given option that would change
// nothing. Without a variant the command gets the default one.
LayerJobOptions LayerOptionsOf(const LayerCommand& command, const MachineConfig& machine);

// The default variant and block size: the first pair in a fixed order whose buffers fit, with the
// given block size unless that is 0. A layer that none of them fits keeps the first.
struct VariantChoice {
  kernels::MoECTEImplementation variant = kernels::MoECTEImplementation::shard_on_i_mx;
  int block_size = 256;
};
VariantChoice DefaultVariant(const LayerJobOptions& layer, const isa::Limits& limits,
                             int block_size = 0);

}  // namespace bwmm::app
