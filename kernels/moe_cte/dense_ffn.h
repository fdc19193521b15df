// The expert FFN of the bf16/fp8 variants, for a range of I, in chunks of I where all of it does
// not fit SBUF:
//
//   G = Wg[e]^T Xt,  U = Wu[e]^T Xt            [I, B]   fp32 PSUM, H/128 passes
//   A = act(clamp(G * sg + bg)) * clamp(U * su + bu)    fp32, then bf16
//     (affinity on I: A * p)                            bf16
//   Y = A^T Wd[e] (* sd)                       [B, H]   fp32 PSUM, handed out in chunks of H
//
// Sums over several chunks of I are kept in fp32 in SBUF.
#pragma once

#include "kernels/moe_cte/dense_hidden.h"
#include "kernels/moe_cte/dense_weights.h"
#include "kernels/moe_cte/expert_ffn.h"
#include "kernels/moe_cte/gated_activation.h"

namespace bwmm::kernels {

class DenseFfn final : public ExpertFfn {
 public:
  struct Options {
    int hidden_depth = 2;        // blocks of hidden rows in flight
    bool affinity_on_I = false;  // multiply the affinity into A
    // [N, 2, I, B]: gate and up of each block, clamped, as the activation gets them.
    const lang::HbmTensor* checkpoint = nullptr;
  };

  // For I columns [first, first + count). Allocate everything else before: the weights take what is
  // left of SBUF.
  DenseFfn(lang::Core& nki, const MoeCteArgs& args, BlockTokens& tokens, std::int64_t first,
           std::int64_t count, const Options& options);

  void LoadRows(std::int64_t turn, const BlockIndex& block) override;
  void Prepare(std::int64_t turn) override;
  void LoadWeights(std::int64_t turn) override;
  void Compute(std::int64_t turn, bool next, const ComputeHooks& hooks) override;
  std::int64_t sub_tiles() const override { return weights_->chunks() * weights_->chunk_tiles(); }
  std::optional<lang::View> down_bias(std::int64_t turn) const override {
    return weights_->down_bias(turn);
  }

 private:
  std::int64_t StepOf(std::int64_t turn, std::int64_t c) const {
    return turn * weights_->chunks() + c;
  }
  void LoadStep(std::int64_t step);
  void ProjectGateUp(std::int64_t turn, std::int64_t c, const ComputeHooks& hooks);
  void ProjectDown(std::int64_t turn, std::int64_t c, const ComputeHooks& hooks);
  void BroadcastAffinity(std::int64_t turn);
  void Checkpoint(std::int64_t turn, std::int64_t c, std::int64_t tile, std::int64_t column,
                  const GatedActivation::Inputs& inputs);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  BlockTokens& tokens_;
  std::int64_t first_;
  Options options_;
  DenseHidden hidden_;
  GatedActivation middle_;
  lang::RotatingTile gate_psum_, up_psum_, down_psum_, inter_, sums_;
  lang::RotatingTile affinity_columns_, affinity_row_, affinity_psum_;
  std::optional<DenseWeights> weights_;  // last, so that it sees what SBUF has left
};

}  // namespace bwmm::kernels
