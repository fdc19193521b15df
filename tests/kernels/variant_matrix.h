// Every variant with every option that makes sense for it.
#pragma once

#include <string>
#include <vector>

#include "tests/kernels/layers.h"

namespace bwmm::testing_layers {

using kernels::BlockShardStrategy;
using kernels::MoECTEImplementation;

struct Option {
  std::string name;
  void (*apply)(Layer&);
};

inline const std::vector<Option> kCommon = {
    {"plain", [](Layer&) {}},
    {"biases_clamps",
     [](Layer& l) {
       l.biases = true;
       l.clamps = true;
     }},
    {"pre_scale_bias",
     [](Layer& l) {
       l.scaling = host::AffinityScaling::kPreScale;
       l.biases = true;
     }},
    {"no_scale", [](Layer& l) { l.scaling = host::AffinityScaling::kNoScale; }},
    {"skip_token_bias",
     [](Layer& l) {
       l.kernel.skip_dma.skip_token = true;
       l.biases = true;
     }},
    {"skip_token_pre_scale",
     [](Layer& l) {
       l.kernel.skip_dma.skip_token = true;
       l.scaling = host::AffinityScaling::kPreScale;
     }},
    {"skip_weight",
     [](Layer& l) {
       l.kernel.skip_dma.skip_weight = true;
       l.tokens = 300;  // blocks that share an expert
       l.experts = 2;
       l.top_k = 1;
     }},
    {"skip_both",
     [](Layer& l) {
       l.kernel.skip_dma = {.skip_token = true, .skip_weight = true};
       l.biases = true;
       l.tokens = 300;
       l.experts = 2;
     }},
    {"gelu", [](Layer& l) { l.activation = Activation::kGelu; }},
    {"gelu_tanh_bias",
     [](Layer& l) {
       l.activation = Activation::kGeluTanh;
       l.biases = true;
     }},
    {"swish", [](Layer& l) { l.activation = Activation::kSwish; }},
    {"relu_squared", [](Layer& l) { l.activation = Activation::kReluSquared; }},
    {"odd_shapes",
     [](Layer& l) {
       l.hidden = 360;
       l.intermediate = 232;
       l.experts = 5;
       l.top_k = 5;
     }},
    {"odd_i_88",
     [](Layer& l) {
       l.hidden = 360;
       l.intermediate = 88;
       l.experts = 8;
       l.top_k = 6;
       l.tokens = 21;
       l.biases = true;
     }},
    {"one_token", [](Layer& l) { l.tokens = 1; }},
};

inline const std::vector<Option> kDense = {
    {"fp8_bias",
     [](Layer& l) {
       l.weights = host::WeightLayout::kFp8;
       l.biases = true;
     }},
    {"fp8_no_scale",
     [](Layer& l) {
       l.weights = host::WeightLayout::kFp8;
       l.scaling = host::AffinityScaling::kNoScale;
     }},
    // All of I does not fit twice: chunks of I.
    {"chunked",
     [](Layer& l) {
       l.hidden = 1536;
       l.intermediate = 2880;
       l.biases = true;
       l.tokens = 12;
     }},
    {"chunked_fp8_skip",
     [](Layer& l) {
       l.hidden = 2048;
       l.intermediate = 3072;
       l.weights = host::WeightLayout::kFp8;
       l.kernel.skip_dma = {.skip_token = true, .skip_weight = true};
       l.tokens = 12;
     }},
    {"top_1_not_accumulating",
     [](Layer& l) {
       l.kernel.is_tensor_update_accumulating = false;
       l.top_k = 1;
       l.biases = true;
     }},
};

inline const std::vector<Option> kMx = {
    {"mxfp8_e4m3", [](Layer& l) { l.weights = host::WeightLayout::kMxfp8E4M3; }},
    {"mxfp8_e5m2",
     [](Layer& l) {
       l.weights = host::WeightLayout::kMxfp8E5M2;
       l.biases = true;
     }},
    {"carriers_fp4", [](Layer& l) { l.kernel.integer_carriers = true; }},
    {"carriers_e5m2",
     [](Layer& l) {
       l.kernel.integer_carriers = true;
       l.weights = host::WeightLayout::kMxfp8E5M2;
     }},
    {"two_tiles",
     [](Layer& l) {
       l.hidden = 1024;
       l.intermediate = 2048;
     }},
};

inline const std::vector<Option> kOnI = {
    {"on_I_bias",
     [](Layer& l) {
       l.kernel.shard_on_I.expert_affinity_multiply_on_I = true;
       l.biases = true;
     }},
};

inline const std::vector<Option> kHybrid = {
    {"all_dynamic", [](Layer& l) { l.kernel.shard_on_I.num_static_block = 0; }},
    {"one_static_bias",
     [](Layer& l) {
       l.kernel.shard_on_I.num_static_block = 1;
       l.biases = true;
     }},
    {"dynamic_skip",
     [](Layer& l) {
       l.kernel.shard_on_I.num_static_block = 0;
       l.kernel.skip_dma = {.skip_token = true, .skip_weight = true};
     }},
};

inline const std::vector<Option> kBlockMx = {
    {"static_1", [](Layer& l) { l.kernel.shard_on_block.n_static_blocks = 1; }},
    {"static_3_prefetch",
     [](Layer& l) {
       l.kernel.shard_on_block.n_static_blocks = 1;
       l.kernel.shard_on_block.dynamic_prefetch = true;
       l.experts = 6;
       l.biases = true;
     }},
    {"all_dynamic",
     [](Layer& l) {
       l.kernel.shard_on_block.n_static_blocks = 0;
       l.experts = 5;
     }},
    {"all_static",
     [](Layer& l) {
       l.kernel.shard_on_block.n_dynamic_blocks = 0;
       l.experts = 5;
     }},
};

inline const std::vector<Option> kBlock = {
    {"hi_lo",
     [](Layer& l) {
       l.kernel.shard_on_block.block_sharding_strategy = BlockShardStrategy::kHiLo;
       l.experts = 7;
       l.block_size = 128;
     }},
    {"seven_blocks",
     [](Layer& l) {
       l.experts = 7;
       l.block_size = 128;
       l.tokens = 128;
     }},
};

inline void Add(std::vector<Layer>& layers, MoECTEImplementation variant,
                const std::vector<Option>& options) {
  for (const Option& option : options) {
    Layer layer{.name = std::string(NameOf(variant)) + "_" + option.name,
                .variant = variant,
                .intermediate = IsMx(variant) ? 1024 : 160,
                .weights = IsMx(variant) ? host::WeightLayout::kMxfp4 : host::WeightLayout::kBf16};
    option.apply(layer);
    layers.push_back(layer);
  }
}

inline std::vector<Layer> Matrix() {
  using enum MoECTEImplementation;
  std::vector<Layer> layers;
  for (const auto variant : {shard_on_block, shard_on_i, shard_on_i_hybrid, shard_on_i_dropping,
                             shard_on_block_mx, shard_on_i_mx, shard_on_i_mx_hybrid}) {
    Add(layers, variant, kCommon);
    Add(layers, variant, IsMx(variant) ? kMx : kDense);
  }
  for (const auto variant : {shard_on_i, shard_on_i_hybrid, shard_on_i_dropping})
    Add(layers, variant, kOnI);
  for (const auto variant : {shard_on_i_hybrid, shard_on_i_mx_hybrid})
    Add(layers, variant, kHybrid);
  Add(layers, shard_on_block_mx, kBlockMx);
  Add(layers, shard_on_block, kBlock);
  return layers;
}

}  // namespace bwmm::testing_layers
