// Small layers for kernel tests.
#pragma once

#include <string>

#include "workloads/moe_cte/layer_job.h"

namespace bwmm::testing_layers {

inline constexpr std::uint64_t kHbmBytes = 1ull << 32;

struct Layer {
  std::string name;
  kernels::MoECTEImplementation variant = kernels::MoECTEImplementation::shard_on_i_mx;
  int hidden = 512;
  int intermediate = 1024;
  int experts = 3;
  int top_k = 2;
  int tokens = 40;
  int block_size = 256;
  host::WeightLayout weights = host::WeightLayout::kMxfp4;
  Activation activation = Activation::kSilu;
  bool biases = false;
  bool clamps = false;
  host::AffinityScaling scaling = host::AffinityScaling::kPostScale;
  kernels::KernelOptions kernel = {};
};

inline workloads::LayerJobOptions OptionsOf(const Layer& layer) {
  host::LayerConfig model;
  model.name = layer.name;
  model.hidden = layer.hidden;
  model.intermediate = layer.intermediate;
  model.experts = layer.experts;
  model.top_k = layer.top_k;
  model.weights = layer.weights;
  model.activation = layer.activation;
  model.gate_up_bias = layer.biases;
  model.down_bias = layer.biases;
  model.affinity_scaling = layer.scaling;
  if (layer.clamps) {
    model.gate_clamp_upper = 0.75f;
    model.up_clamp_lower = -0.5f;
    model.up_clamp_upper = 1.0f;
  }
  return {.model = model,
          .variant = layer.variant,
          .tokens = layer.tokens,
          .block_size = layer.block_size,
          .seed = 7,
          .kernel = layer.kernel};
}

}  // namespace bwmm::testing_layers
