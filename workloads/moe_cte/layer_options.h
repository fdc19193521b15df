// The options of `bwmm run` as one layer: model, variant, block size and kernel options, each of
// which changes something in the run, or is refused.
#pragma once

#include "workloads/moe_cte/layer_job.h"
#include "workloads/workload.h"

namespace bwmm::workloads {

struct LayerRequest {
  std::string model;    // a preset; or
  std::string config;   // a TOML file
  std::string variant;  // a name or number; empty: the first that fits the model
  int tokens = 256;
  int block_size = 256;
  std::string routing;
  std::string check = "auto";  // on, worst_case, off; auto: up to a size that takes seconds
  std::string output;          // .npy or .safetensors for the result
};

// SimError on unknown keys, on values out of range, and on a given option that would change
// nothing. Without a variant it gets the default one.
LayerJobOptions LayerOptionsOf(const LayerRequest& request, const Setup& setup);

// The default variant and block size: the first pair in a fixed order whose buffers fit, with the
// given block size unless that is 0. A layer that none of them fits keeps the first.
struct VariantChoice {
  kernels::MoECTEImplementation variant = kernels::MoECTEImplementation::shard_on_i_mx;
  int block_size = 256;
};
VariantChoice DefaultVariant(const LayerJobOptions& layer, const isa::Limits& limits,
                             int block_size = 0);

}  // namespace bwmm::workloads
