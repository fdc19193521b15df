// The end of a block in the I-shard variants: the cores' partial sums become output rows.
//
//   rows [B, H] of this core --sendrecv--> each peer's share of the 128-row tiles
//   s = core 0's + core 1's + ..               bf16; the checkpoint of the down projection
//   out[ids] = out[ids] + p * (s + bias)       this core's share
//
// s and s + bias are rounded to bf16; p * x + old is OutputRows::Finish.
//
// Each core owns an equal share of a block's tiles, so every row is summed once and the bias is
// added once, after the sum. A token may be owned by different cores in different blocks: the
// core_barrier at the end of Finish orders their updates of the output.
//
// The element-wise half is emitted in chunks between the next block's sub-tiles (Step), so that
// neither waits long for the VectorEngine.
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {

class CrossCoreRows {
 public:
  struct Options {
    Rounding rounding = Rounding::kStepwise;
    bool affinity_on_I = false;                   // already in the sums: it still scales the bias
    const lang::HbmTensor* checkpoint = nullptr;  // [N, B, H]: s of each block
  };

  CrossCoreRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
                const Options& options);

  // [128, H]: where the down projection of a block leaves its partial sums, tile by tile.
  const lang::View& partial(int tile) const { return partial_[tile]; }

  // The DMA half of turn `n`: sends the peers' partial sums, fetches old rows. `bias` is [128, H].
  void Exchange(std::int64_t n, const std::optional<lang::View>& bias);
  // Emits up to `count` chunks of the element-wise half of the block exchanged last.
  void Step(std::int64_t count);
  // Emits what is left of it and the scatter; then a core_barrier, unless it was the last block.
  void Finish(bool last);

  // Chunks of a block.
  std::int64_t steps() const { return owned_ * chunks_; }

 private:
  // Tile t of a core's share, counted in the block.
  int TileOf(int t, int core) const { return t + owned_ * core; }
  int Mine(int t) const { return TileOf(t, nki_.program_id()); }
  // A core's sums for tile t of this one's share.
  const lang::View& SumsOf(int t, int core) const;
  // Where the result of tile t is made, in place of sums.
  const lang::View& Row(int t) const;
  void StepChunk(int t, std::int64_t h);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  const BlockTokens& tokens_;
  Options options_;
  int owned_;            // 128-row tiles of a block that end on this core
  std::int64_t chunks_;  // of one row tile
  lang::RotatingTile partial_, received_, checkpoint_;
  OutputRows output_;
  std::optional<std::int64_t> pending_;  // the block exchanged and not finished
  std::optional<lang::View> bias_;
  std::int64_t step_ = 0;
  std::int64_t stores_ = 0;
};

}  // namespace bwmm::kernels
