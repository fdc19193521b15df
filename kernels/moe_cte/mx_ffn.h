// The expert FFN of the MX variants: quantised rows, MX weights, for a range of I tiles.
#pragma once

#include "kernels/moe_cte/expert_ffn.h"
#include "kernels/moe_cte/mx_expert.h"
#include "kernels/moe_cte/mx_hidden.h"
#include "kernels/moe_cte/mx_plan.h"
#include "kernels/moe_cte/mx_weights.h"

namespace bwmm::kernels {

class MxFfn final : public ExpertFfn {
 public:
  MxFfn(lang::Core& nki, const MoeCteArgs& args, BlockTokens& tokens, const MxShare& share,
        const MxPlan& plan)
      : tokens_(tokens),
        hidden_(nki, args, tokens, plan.quantized, plan.gather_groups),
        weights_(nki, args, share, plan.gate_up, 1),
        expert_(nki, args, weights_) {}

  void LoadRows(std::int64_t turn, const BlockIndex& block) override {
    tokens_.Load(turn, block);
    hidden_.Gather(turn, block);
  }
  void Prepare(std::int64_t turn) override { hidden_.TransposeAndQuantize(turn); }
  void LoadWeights(std::int64_t turn) override {
    weights_.LoadGateUp(turn, tokens_.weight_expert(turn), tokens_.expert(turn));
    weights_.LoadDown(turn, tokens_.weight_expert(turn), tokens_.expert(turn));
  }
  void Compute(std::int64_t turn, bool next, const ComputeHooks& hooks) override {
    expert_.ProjectGateUp(turn, hidden_, hooks.between);
    hooks.before_down();
    if (next)
      weights_.LoadGateUp(turn + 1, tokens_.weight_expert(turn + 1), tokens_.expert(turn + 1));
    expert_.ProjectDown(turn, hooks.result);
    if (next)
      weights_.LoadDown(turn + 1, tokens_.weight_expert(turn + 1), tokens_.expert(turn + 1));
  }
  std::int64_t sub_tiles() const override { return expert_.sub_tiles(); }
  std::optional<lang::View> down_bias(std::int64_t turn) const override {
    return weights_.down_bias(turn);
  }

 private:
  BlockTokens& tokens_;
  MxHidden hidden_;
  MxWeights weights_;
  MxExpert expert_;
};

}  // namespace bwmm::kernels
