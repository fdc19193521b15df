// The options of `bwmm run` as one layer: model, variant, block size and kernel options, each of
// which changes something in the run, or is refused.
#pragma once

#include "cli/layer_command.h"
#include "model/system/machine_config.h"
#include "workloads/layer_job.h"

namespace bwmm::cli {

// SimError on unknown keys, on values out of range, and on a given option that would change
// nothing. Without a variant the command gets the default one.
workloads::LayerJobOptions LayerOptionsOf(const LayerCommand& command,
                                          const MachineConfig& machine);

// The default variant and block size: the first pair in a fixed order whose buffers fit, with the
// given block size unless that is 0. A layer that none of them fits keeps the first.
struct VariantChoice {
  kernels::MoECTEImplementation variant = kernels::MoECTEImplementation::shard_on_i_mx;
  int block_size = 256;
};
VariantChoice DefaultVariant(const workloads::LayerJobOptions& layer, const isa::Limits& limits,
                             int block_size = 0);

}  // namespace bwmm::cli
