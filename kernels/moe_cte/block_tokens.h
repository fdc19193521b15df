// What a block needs to know about its tokens: row ids, the expert, and the affinity of each row.
//
//   token_position_to_id --> ids [128, B/128]     partition p of column t is token slot t * 128 + p
//   block_to_expert      --> expert [128, 1]      the same value in every partition
//   id * E + expert      --> affinity [128, B/128]
#pragma once

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class BlockTokens {
 public:
  // `depth` blocks may be in flight at once.
  BlockTokens(lang::Core& nki, const MoeCteArgs& args, int depth);

  // Block `block` of the layout becomes turn `turn` of this core.
  void Load(std::int64_t turn, std::int64_t block);

  // [128, 1] each
  lang::View ids(std::int64_t turn, int tile) const { return ids_[turn].Slice(1, tile, 1); }
  const lang::View& expert(std::int64_t turn) const { return expert_[turn]; }
  lang::View affinity(std::int64_t turn, int tile) const {
    return affinity_[turn].Slice(1, tile, 1);
  }
  int tiles() const { return tiles_; }

 private:
  lang::Core& nki_;
  const MoeCteArgs& args_;
  int tiles_;
  lang::RotatingTile ids_, expert_, address_, affinity_;
};

}  // namespace bwmm::kernels
