// bf16 weights of one expert, whole, for shard_on_block. Row r of a K tile is partition r.
//
//   gate_up_proj_weight[e] [H, 2, I] --> [128, H/128, 2, I]
//   down_proj_weight[e]    [I, H]    --> [128, ceil(I/128), H], the last tile maybe partial
//
// The expert is a value on the device; it offsets the DMA's source address.
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class Weights {
 public:
  // Two blocks deep where SBUF has the room, else one.
  Weights(lang::Core& nki, const MoeCteArgs& args);

  void Load(std::int64_t block, const lang::View& expert);

  // [128, H/128, I]
  lang::View gate_up(std::int64_t block, int gate_or_up) const {
    return gate_up_[block].Pick(2, gate_or_up);
  }
  // [rows of the tile, H]
  lang::View down(std::int64_t block, std::int64_t tile) const {
    return down_[block].Pick(1, tile).Slice(0, 0, TileRows(tile));
  }
  // [rows of the tile, 1]; nullopt without biases.
  std::optional<lang::View> gate_up_bias(std::int64_t block, int gate_or_up,
                                         std::int64_t tile) const;
  // [128, H], the same row in every partition; nullopt without a bias.
  std::optional<lang::View> down_bias(std::int64_t block) const;

  // 128, or what is left of I in the last tile.
  std::int64_t TileRows(std::int64_t tile) const;

 private:
  lang::Core& nki_;
  const MoeCteArgs& args_;
  lang::RotatingTile gate_up_, down_, bias_, down_bias_;
};

}  // namespace bwmm::kernels
