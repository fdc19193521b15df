// The expert FFN of the MX variants: quantised rows, MX weights, for a range of I tiles of 512:
//
//   Xq = quantize_mx(X^T)                 [H, B]   see mx_hidden.h
//   G = Wg[e]^T Xq,  U = Wu[e]^T Xq       [I, B]   bf16 PSUM, H/512 passes
//   A = act(clamp(G + bg)) * clamp(U + bu)         bf16
//   Y = quantize_mx(A)^T Wd[e]            [B, H]   bf16 PSUM, handed out in chunks
//
// The I-shard variants give it this core's half of I, the block-shard one all of it.
#pragma once

#include "kernels/moe_cte/expert_ffn.h"
#include "kernels/moe_cte/gated_activation.h"
#include "kernels/moe_cte/mx_hidden.h"
#include "kernels/moe_cte/mx_weights.h"

namespace bwmm::kernels {

// How deep the buffers rotate.
struct MxDepths {
  int gate_up = 2;        // blocks of gate/up weights
  int quantized = 2;      // blocks of quantised rows
  int gather_groups = 8;  // gathered groups of 32 tokens
};
// The deepest with which `allocate`, which makes all buffers of a kernel, finds room. The least may
// still not fit: its allocation then says so.
MxDepths DeepestThatFit(const lang::Core& nki, const MoeCteArgs& args,
                        const std::function<void(lang::Core&, const MxDepths&)>& allocate);

class MxFfn final : public ExpertFfn {
 public:
  MxFfn(lang::Core& nki, const MoeCteArgs& args, BlockTokens& tokens, const MxShare& share,
        const MxDepths& depths);

  void LoadRows(std::int64_t turn, const BlockIndex& block) override;
  void Prepare(std::int64_t turn) override;
  void LoadWeights(std::int64_t turn) override;
  void Compute(std::int64_t turn, bool next, const ComputeHooks& hooks) override;
  std::int64_t sub_tiles() const override { return kMxGroup.lanes * weights_.tiles(); }
  std::optional<lang::View> down_bias(std::int64_t turn) const override {
    return weights_.down_bias(turn);
  }

 private:
  const lang::View& Inter(std::int64_t tile) const {
    return (tile + 1) * kMxGroup.lanes > weights_.share().sub_tiles ? tail_[0] : inter_[tile];
  }
  void LoadGateUp(std::int64_t turn);
  void LoadDown(std::int64_t turn);
  void ProjectGateUp(std::int64_t turn, const ComputeHooks& hooks);
  void MatmulGateUp(const lang::View& psum, std::int64_t turn, int gate_or_up,
                    std::int64_t sub_tile);
  void ProjectDown(std::int64_t turn, const ComputeHooks& hooks);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  BlockTokens& tokens_;
  MxHidden hidden_;
  MxWeights weights_;
  GatedActivation middle_;
  lang::RotatingTile gate_psum_, up_psum_, down_psum_;
  lang::RotatingTile inter_, words_, scales_;  // the intermediate: bf16, x4, E8M0
  lang::RotatingTile tail_;                    // of a tile with padding, whose lanes stay zero
};

}  // namespace bwmm::kernels
