// The moving operand of the dense gate/up projection: hidden rows of a block, gathered and
// transposed on the PE array.
//
//   HBM rows [T+1, H] --gather--> [128 tokens, H] --(PRE_SCALE: * affinity, bf16)-->
//     --nc_transpose--> PSUM --copy--> [128 h, H/128, B]
#pragma once

#include "kernels/lang/core.h"
#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class DenseHidden {
 public:
  // `depth` blocks of rows and of transposed rows.
  DenseHidden(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens, int depth);

  void Gather(std::int64_t turn);
  void Transpose(std::int64_t turn);

  // [128, H/128, B]
  const lang::View& transposed(std::int64_t turn) const { return transposed_[turn]; }

 private:
  lang::Core& nki_;
  const MoeCteArgs& args_;
  const BlockTokens& tokens_;
  std::int64_t tiles_;  // H / 128
  std::int64_t banks_used_ = 0;
  lang::RotatingTile rows_, psum_, transposed_;
};

}  // namespace bwmm::kernels
