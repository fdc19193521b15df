#include "kernels/moe_cte/reference_problem.h"

#include "model/support/check.h"

namespace bwmm {
namespace {

reference::Weights WeightsOf(host::WeightLayout layout) {
  switch (layout) {
    case host::WeightLayout::kBf16:
      return reference::Weights::kBf16;
    case host::WeightLayout::kFp8:
      return reference::Weights::kFp8E4M3Fn;
    case host::WeightLayout::kMxfp4:
      return reference::Weights::kMxE2M1;
    case host::WeightLayout::kMxfp8E4M3:
      return reference::Weights::kMxE4M3Fn;
    case host::WeightLayout::kMxfp8E5M2:
      return reference::Weights::kMxE5M2;
  }
  throw CheckFailure("unknown weight layout");
}

reference::Scaling ScalingOf(host::AffinityScaling scaling) {
  switch (scaling) {
    case host::AffinityScaling::kNoScale:
      return reference::Scaling::kNone;
    case host::AffinityScaling::kPostScale:
      return reference::Scaling::kPost;
    case host::AffinityScaling::kPreScale:
      return reference::Scaling::kPre;
  }
  throw CheckFailure("unknown affinity scaling");
}

}  // namespace

reference::Function FunctionOf(Activation activation) {
  switch (activation) {
    case Activation::kIdentity:
      return reference::Function::kIdentity;
    case Activation::kSilu:
      return reference::Function::kSilu;
    case Activation::kSwish:
      return reference::Function::kSwish;
    case Activation::kGelu:
      return reference::Function::kGelu;
    case Activation::kGeluTanh:
      return reference::Function::kGeluTanh;
    case Activation::kReluSquared:
      return reference::Function::kReluSquared;
    case Activation::kSigmoid:
      return reference::Function::kSigmoid;
    case Activation::kExp:
      return reference::Function::kExp;
  }
  throw CheckFailure("unknown activation");
}

reference::MoeCteProblem ReferenceProblem(const host::LayerConfig& config,
                                          const host::LayerTensors& layer,
                                          const host::BlockLayout& blocks) {
  Check(layer.hidden.has_data() && layer.gate_up_weight.has_data(), "the reference needs data");
  Check(layer.tokens == blocks.tokens, "layer and blocks are of the same tokens");
  reference::MoeCteProblem p;
  p.tokens = layer.tokens;
  p.hidden = layer.shape.hidden_padded;
  p.columns = layer.shape.hidden;
  p.intermediate = layer.shape.intermediate_padded;
  p.experts = layer.shape.experts;
  p.blocks = blocks.blocks;
  p.block_size = blocks.block_size;
  p.token_position_to_id = blocks.token_position_to_id.data();
  p.block_to_expert = blocks.block_to_expert.data();
  p.hidden_rows = layer.hidden.words<std::uint16_t>().data();
  if (layer.affinities.dtype == DType::kFp32) {
    p.affinities_fp32 = layer.affinities.words<float>().data();
  } else {
    p.affinities_bf16 = layer.affinities.words<std::uint16_t>().data();
  }
  p.weights = WeightsOf(layer.layout);
  p.gate_up_weight = layer.gate_up_weight.data.data();
  p.down_weight = layer.down_weight.data.data();
  if (layer.gate_up_scale)
    p.gate_up_scale = layer.gate_up_scale->data.data();
  if (layer.down_scale)
    p.down_scale = layer.down_scale->data.data();
  if (layer.gate_up_bias)
    p.gate_up_bias = layer.gate_up_bias->words<std::uint16_t>().data();
  if (layer.down_bias)
    p.down_bias = layer.down_bias->words<std::uint16_t>().data();
  p.activation = FunctionOf(config.activation);
  p.gate_lower = config.gate_clamp_lower.value_or(p.gate_lower);
  p.gate_upper = config.gate_clamp_upper.value_or(p.gate_upper);
  p.up_lower = config.up_clamp_lower.value_or(p.up_lower);
  p.up_upper = config.up_clamp_upper.value_or(p.up_upper);
  p.scaling = ScalingOf(config.affinity_scaling);
  return p;
}

}  // namespace bwmm
