// One expert's FFN on quantised rows, MX weights, for a range of I tiles of 512:
//
//   G = Wg[e]^T Xq,  U = Wu[e]^T Xq       [I, B]   bf16 PSUM, H/512 passes
//   A = act(clamp(G + bg)) * clamp(U + bu)         bf16
//   Y = quantize_mx(A)^T Wd[e]            [B, H]   bf16 PSUM, handed out in chunks
//
// The I-shard variants give it this core's half of I, the block-shard one all of it.
#pragma once

#include <functional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/gated_activation.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/mx_hidden.h"
#include "kernels/moe_cte/mx_weights.h"

namespace bwmm::kernels {

class MxExpert {
 public:
  static constexpr std::int64_t kChunk = 512;  // columns of H the down projection hands out

  MxExpert(lang::Core& nki, const MoeCteArgs& args, MxWeights& weights);

  // `between` is called after each of the sub_tiles() sub-tiles of 128 of I: what else the engines
  // may do meanwhile.
  void ProjectGateUp(std::int64_t turn, const MxHidden& hidden,
                     const std::function<void()>& between);
  // `result(t, h, psum)`: [128, kChunk] sums of row tile t from column h on.
  void ProjectDown(std::int64_t turn,
                   const std::function<void(int, std::int64_t, const lang::View&)>& result);

  std::int64_t sub_tiles() const { return 4 * weights_.tiles(); }

 private:
  const lang::View& Inter(std::int64_t tile) const {
    return 4 * tile + 4 > weights_.share().sub_tiles ? tail_[0] : inter_[tile];
  }
  void MatmulGateUp(const lang::View& psum, std::int64_t turn, const MxHidden& hidden,
                    int gate_or_up, std::int64_t sub_tile);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  MxWeights& weights_;
  GatedActivation middle_;
  lang::RotatingTile gate_psum_, up_psum_, down_psum_;
  lang::RotatingTile inter_, words_, scales_;  // the intermediate: bf16, x4, E8M0
  lang::RotatingTile tail_;                    // of a tile with padding, whose lanes stay zero
};

}  // namespace bwmm::kernels
