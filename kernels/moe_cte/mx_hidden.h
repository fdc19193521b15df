// The moving operand of the MX gate/up projection: hidden rows of a block, gathered, transposed
// and quantised online.
//
//   HBM rows [(T+1) * 4, H/4] --gather--> [128 = 4 quarters x 32 tokens, H/4]    (32 tokens each)
//     (PRE_SCALE: rows * affinity, bf16)
//     --nc_transpose--> PSUM [128 h, 4 x 32] --copy--> SBUF [128 h, tile, token, quarter]
//     --quantize_mx--> x4 [128 h, tile, token], E8M0 in the quadrant layout
//
// The H order is h = quarter * H/4 + tile * 128 + p: the x4 lanes of a word are the four quarters.
#pragma once

#include "kernels/lang/core.h"
#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class MxHidden {
 public:
  // `quantized_depth` blocks of quantised rows, `gather_depth` gathered groups of 32 tokens.
  MxHidden(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens, int quantized_depth,
           int gather_depth);

  // Gathers as many groups as there are buffers; TransposeAndQuantize gathers the rest as buffers
  // come free.
  void Gather(std::int64_t turn, const BlockIndex& block);
  void TransposeAndQuantize(std::int64_t turn);

  // [128, tile, token]
  const lang::View& words(std::int64_t turn) const { return words_[turn]; }
  const lang::View& scales(std::int64_t turn) const { return scales_[turn]; }

 private:
  void GatherGroup(std::int64_t turn, std::int64_t group);
  bool pre_scale() const {
    return args_.expert_affinities_scaling_mode == AffinityScalingMode::kPreScale;
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  const BlockTokens& tokens_;
  std::int64_t tiles_;   // H / 512
  std::int64_t groups_;  // of 32 tokens
  lang::Tile quarter_;   // [128, 1]: p / 32
  lang::RotatingTile slots_, index_, address_, affinity_, rows_, transposed_, lanes_, words_,
      scales_;
};

}  // namespace bwmm::kernels
