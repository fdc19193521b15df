#include "kernels/moe_cte/weights.h"

#include <algorithm>

namespace bwmm::kernels {

using lang::View;

namespace {

constexpr std::int64_t kTile = 128;

// Per partition: token ids, rows and intermediates of a group, outside the weights.
std::int64_t OtherBytes(const MoeCteArgs& args) {
  const std::int64_t tiles = args.block_size / kTile;
  const std::int64_t rows = 3 * tiles + 3 * tiles + 4;
  return rows * args.hidden() * 2 + (args.intermediate() / kTile + 12) * args.block_size * 2 + 4096;
}

}  // namespace

Weights::Weights(lang::Core& nki, const MoeCteArgs& args) : nki_(nki), args_(args) {
  const std::int64_t h_tiles = args.hidden() / kTile;
  const std::int64_t i_tiles = (args.intermediate() + kTile - 1) / kTile;
  const std::int64_t bytes = h_tiles * 2 * args.intermediate() * 2 + i_tiles * args.hidden() * 2;
  const int depth = 2 * bytes + OtherBytes(args) <= nki.limits().sbuf_bytes ? 2 : 1;
  gate_up_ = nki.RotatingSbuf("gate_up_weight", depth, DType::kBf16, 128,
                              {h_tiles, 2, args.intermediate()});
  down_ = nki.RotatingSbuf("down_weight", depth, DType::kBf16, 128, {i_tiles, args.hidden()});
  if (args.gate_and_up_bias)
    bias_ = nki.RotatingSbuf("gate_up_bias", 2, DType::kFp32, 128, {2, i_tiles});
  if (args.down_bias)
    down_bias_ = nki.RotatingSbuf("down_bias", depth, DType::kBf16, 128, {args.hidden()});
}

std::int64_t Weights::TileRows(std::int64_t tile) const {
  return std::min(kTile, args_.intermediate() - tile * kTile);
}

void Weights::Load(std::int64_t block, const View& expert) {
  const View one = expert.Slice(0, 0, 1);
  const lang::HbmTensor& gate_up = args_.gate_up_proj_weight;
  nki_.dma_copy(gate_up_[block], gate_up.At({0}).SplitRows(kTile),
                {.src_offset = gate_up.Offset(one)});
  const lang::HbmTensor& down = args_.down_proj_weight;
  for (std::int64_t tile = 0; tile * kTile < args_.intermediate(); ++tile) {
    nki_.dma_copy(this->down(block, tile), down.At({0}).Slice(0, tile * kTile, TileRows(tile)),
                  {.src_offset = down.Offset(one)});
  }
  if (args_.gate_and_up_bias) {
    const lang::HbmTensor& bias = *args_.gate_and_up_bias;
    for (const int gate_or_up : {0, 1}) {
      for (std::int64_t tile = 0; tile * kTile < args_.intermediate(); ++tile) {
        // One value per partition: the I dimension becomes the partition dimension.
        const View column = bias.Reshaped({args_.experts() * 2, args_.intermediate(), 1})
                                .At({gate_or_up})
                                .Slice(0, tile * kTile, TileRows(tile));
        nki_.dma_copy(*gate_up_bias(block, gate_or_up, tile), column,
                      {.src_offset = bias.Offset(one)});
      }
    }
  }
  if (args_.down_bias)
    nki_.dma_copy(down_bias_[block], args_.down_bias->At().Slice(0, 0, 1),
                  {.src_offset = args_.down_bias->Offset(one)});
}

std::optional<View> Weights::gate_up_bias(std::int64_t block, int gate_or_up,
                                          std::int64_t tile) const {
  if (!args_.gate_and_up_bias)
    return std::nullopt;
  return bias_[block].Pick(1, gate_or_up).Slice(1, tile, 1).Slice(0, 0, TileRows(tile));
}

std::optional<View> Weights::down_bias(std::int64_t block) const {
  if (!args_.down_bias)
    return std::nullopt;
  return down_bias_[block];
}

}  // namespace bwmm::kernels
