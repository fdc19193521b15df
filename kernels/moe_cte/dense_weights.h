// bf16 or fp8 weights of one expert for I columns [first, first + count), in chunks of I that fit
// SBUF twice. Row r of a K tile is partition r.
//
//   gate_up_proj_weight[e] [H, 2, I] --> [128, H/128, 2, chunk]
//   down_proj_weight[e]    [I, H]    --> [128, ceil(chunk/128), H], the last tile maybe partial
//
// fp8 weights come with one fp32 scale per output channel. The expert is a value on the device; it
// offsets the DMA's source address.
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class DenseWeights {
 public:
  // Columns in the buffers at once, and how often the buffers rotate.
  struct Chunks {
    std::int64_t columns = 0;
    int depth = 2;
  };
  // All at once. Skipping the weights of a repeated expert needs them in the same buffer: depth 1.
  static Chunks Whole(const MoeCteArgs& args, std::int64_t count) {
    return {.columns = count, .depth = args.skip_dma.skip_weight ? 1 : 2};
  }
  static bool Fit(const lang::Core& nki, const MoeCteArgs& args, std::int64_t first,
                  std::int64_t count, const Chunks& chunks);
  // The largest in what SBUF has left: allocate everything else before. The least may still not
  // fit: its allocation then says so.
  static Chunks LargestThatFit(const lang::Core& nki, const MoeCteArgs& args, std::int64_t first,
                               std::int64_t count);

  DenseWeights(lang::Core& nki, const MoeCteArgs& args, std::int64_t first, std::int64_t count,
               const Chunks& chunks);

  // Step s is chunk s % chunks() of turn s / chunks(). Its buffer was last used by step s -
  // depth().
  void Load(std::int64_t step, const lang::View& expert);
  // [128, H] tiles of a turn, used after its last chunk.
  void LoadDownRow(std::int64_t turn, const lang::View& expert);

  std::int64_t chunks() const { return (count_ + chunk_ - 1) / chunk_; }
  int depth() const { return gate_up_.count(); }
  // 128-row tiles of chunk c, and rows of one of them.
  std::int64_t tiles(std::int64_t c) const { return (Columns(c) + 127) / 128; }
  std::int64_t TileRows(std::int64_t c, std::int64_t tile) const;
  std::int64_t chunk_tiles() const { return (chunk_ + 127) / 128; }

  // [128, H/128, rows of the tile]
  lang::View gate_up(std::int64_t step, int gate_or_up, std::int64_t tile) const;
  // [rows of the tile, H]
  lang::View down(std::int64_t step, std::int64_t tile) const;
  // [rows of the tile, 1]; nullopt without.
  std::optional<lang::View> gate_up_bias(std::int64_t step, int gate_or_up,
                                         std::int64_t tile) const;
  std::optional<lang::View> gate_up_scale(std::int64_t step, int gate_or_up,
                                          std::int64_t tile) const;
  // [128, H], the same row in every partition; nullopt without.
  std::optional<lang::View> down_bias(std::int64_t turn) const;
  std::optional<lang::View> down_scale(std::int64_t turn) const;

 private:
  std::int64_t ChunkOf(std::int64_t step) const { return step % chunks(); }
  std::int64_t Columns(std::int64_t c) const;
  // One value per partition for each tile of the step's chunk, from a [E, 2, I] tensor.
  void LoadPerChannel(const lang::RotatingTile& tiles, const lang::HbmTensor& tensor,
                      std::int64_t step, const lang::View& expert);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  std::int64_t first_, count_, chunk_;
  lang::RotatingTile gate_up_, down_, bias_, scale_, down_bias_, down_scale_;
};

}  // namespace bwmm::kernels
