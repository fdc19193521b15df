// What a block needs to know about its tokens: row ids, the expert, and the affinity of each row.
//
//   token_position_to_id --> ids [128, B/128]     partition p of column t is token slot t * 128 + p
//   block_to_expert      --> expert [128, 1]      the same value in every partition
//   id * E + expert      --> affinity [128, B/128]
//
// With skip_token a padding id is -1: every gather and scatter by ids skips it, and its affinity
// stays as it was. With skip_weight the expert whose weights are to be loaded becomes E, out of
// bounds, when it is the one of the turn before.
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

// Which block of the layout: a number the kernel knows, or one int32 on the device.
struct BlockIndex {
  std::int64_t number = 0;
  std::optional<lang::View> device = std::nullopt;
};

class BlockTokens {
 public:
  // `depth` turns may be in flight at once. With `expert_is_block` block n belongs to expert n and
  // block_to_expert is not read (shard_on_i_dropping).
  BlockTokens(lang::Core& nki, const MoeCteArgs& args, int depth, bool expert_is_block = false);

  void Load(std::int64_t turn, const BlockIndex& block);

  // [128, 1] each
  lang::View ids(std::int64_t turn, int tile) const { return ids_[turn].Slice(1, tile, 1); }
  const lang::View& expert(std::int64_t turn) const { return expert_[turn]; }
  // The expert, or E when its weights are already there.
  const lang::View& weight_expert(std::int64_t turn) const {
    return args_.skip_dma.skip_weight ? weight_expert_[turn] : expert_[turn];
  }
  lang::View affinity(std::int64_t turn, int tile) const {
    return affinity_[turn].Slice(1, tile, 1);
  }
  int tiles() const { return tiles_; }

  // Rows [rows, columns] of token slots, column by column, of a block: for other layouts of ids.
  void LoadSlots(const lang::View& dst, const BlockIndex& block) const;
  // Affinity table addresses id * E + expert for any layout of ids.
  void Address(const lang::View& address, const lang::View& ids, std::int64_t turn) const;

  // What gathers and scatters by ids do with a padding row.
  isa::OutOfBounds oob() const {
    return args_.skip_dma.skip_token ? isa::OutOfBounds::kSkip : isa::OutOfBounds::kError;
  }

 private:
  void LoadExpert(std::int64_t turn, const BlockIndex& block);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  int tiles_;
  bool expert_is_block_;
  lang::RotatingTile ids_, expert_, weight_expert_, address_, affinity_;
};

}  // namespace bwmm::kernels
