#include "kernels/moe_cte/dense_weights.h"

#include <algorithm>

#include "kernels/lang/fits.h"

namespace bwmm::kernels {

using lang::View;

namespace {

constexpr std::int64_t kTile = 128;
constexpr auto kSkip = isa::OutOfBounds::kSkip;
// The rows of turn n + 1 are loaded while those of turn n - 1 may still be added to the output.
constexpr int kRowDepth = 3;

}  // namespace

bool DenseWeights::Fit(const lang::Core& nki, const MoeCteArgs& args, std::int64_t first,
                       std::int64_t count, const Chunks& chunks) {
  return lang::Fits(nki,
                    [&](lang::Core& trial) { DenseWeights(trial, args, first, count, chunks); });
}

DenseWeights::Chunks DenseWeights::LargestThatFit(const lang::Core& nki, const MoeCteArgs& args,
                                                  std::int64_t first, std::int64_t count) {
  Chunks chunks{.columns = count};
  while (chunks.columns > kTile && !Fit(nki, args, first, count, chunks))
    chunks.columns = (chunks.columns - 1) / kTile * kTile;
  return chunks;
}

DenseWeights::DenseWeights(lang::Core& nki, const MoeCteArgs& args, std::int64_t first,
                           std::int64_t count, const Chunks& chunks)
    : nki_(nki), args_(args), first_(first), count_(count), chunk_(chunks.columns) {
  const std::int64_t h = args.hidden();
  if (args.down_bias)
    down_bias_ = nki.RotatingSbuf("down_bias", kRowDepth, DType::kBf16, 128, {h});
  if (args.down_proj_scale)
    down_scale_ = nki.RotatingSbuf("down_scale", kRowDepth, DType::kFp32, 128, {h});
  const DType type = args.gate_up_proj_weight.dtype;
  gate_up_ = nki.RotatingSbuf("gate_up_weight", chunks.depth, type, 128, {h / kTile, 2, chunk_});
  down_ = nki.RotatingSbuf("down_weight", chunks.depth, type, 128, {chunk_tiles(), h});
  if (args.gate_and_up_bias)
    bias_ = nki.RotatingSbuf("gate_up_bias", chunks.depth, DType::kFp32, 128, {2, chunk_tiles()});
  if (args.gate_up_proj_scale)
    scale_ = nki.RotatingSbuf("gate_up_scale", chunks.depth, DType::kFp32, 128, {2, chunk_tiles()});
}

std::int64_t DenseWeights::Columns(std::int64_t c) const {
  return std::min(chunk_, count_ - c * chunk_);
}

std::int64_t DenseWeights::TileRows(std::int64_t c, std::int64_t tile) const {
  return std::min(kTile, Columns(c) - tile * kTile);
}

void DenseWeights::Load(std::int64_t step, const View& expert) {
  const View one = expert.Slice(0, 0, 1);
  const std::int64_t c = ChunkOf(step);
  const std::int64_t begin = first_ + c * chunk_;
  const lang::HbmTensor& gate_up = args_.gate_up_proj_weight;
  nki_.dma_copy(gate_up_[step].Slice(3, 0, Columns(c)),
                gate_up.At({0}).SplitRows(kTile).Slice(3, begin, Columns(c)),
                {.src_offset = gate_up.Offset(one, kSkip)});
  const lang::HbmTensor& down = args_.down_proj_weight;
  for (std::int64_t tile = 0; tile < tiles(c); ++tile) {
    nki_.dma_copy(this->down(step, tile),
                  down.At({0}).Slice(0, begin + tile * kTile, TileRows(c, tile)),
                  {.src_offset = down.Offset(one, kSkip)});
  }
  if (args_.gate_and_up_bias)
    LoadPerChannel(bias_, *args_.gate_and_up_bias, step, one);
  if (args_.gate_up_proj_scale)
    LoadPerChannel(scale_, *args_.gate_up_proj_scale, step, one);
}

void DenseWeights::LoadPerChannel(const lang::RotatingTile& tiles, const lang::HbmTensor& tensor,
                                  std::int64_t step, const View& expert) {
  const std::int64_t c = ChunkOf(step);
  // The I dimension becomes the partition dimension.
  const lang::HbmTensor channels = tensor.Reshaped({args_.experts() * 2, args_.intermediate(), 1});
  const lang::HbmTensor experts = tensor.Reshaped({args_.experts(), 2 * args_.intermediate()});
  for (const int gate_or_up : {0, 1}) {
    for (std::int64_t tile = 0; tile < this->tiles(c); ++tile) {
      const std::int64_t begin = first_ + c * chunk_ + tile * kTile;
      const std::int64_t rows = TileRows(c, tile);
      nki_.dma_copy(tiles[step].Pick(1, gate_or_up).Slice(1, tile, 1).Slice(0, 0, rows),
                    channels.At({gate_or_up}).Slice(0, begin, rows),
                    {.src_offset = experts.Offset(expert, kSkip)});
    }
  }
}

void DenseWeights::LoadDownRow(std::int64_t turn, const View& expert) {
  const View one = expert.Slice(0, 0, 1);
  const auto load = [&](const View& tile, const lang::HbmTensor& tensor) {
    const lang::HbmTensor rows = tensor.Reshaped({args_.experts(), args_.hidden()});
    nki_.dma_copy(tile, rows.At().Slice(0, 0, 1), {.src_offset = rows.Offset(one)});
  };
  if (args_.down_bias)
    load(down_bias_[turn], *args_.down_bias);
  if (args_.down_proj_scale)
    load(down_scale_[turn], *args_.down_proj_scale);
}

View DenseWeights::gate_up(std::int64_t step, int gate_or_up, std::int64_t tile) const {
  return gate_up_[step].Pick(2, gate_or_up).Slice(2, tile * kTile, TileRows(ChunkOf(step), tile));
}

View DenseWeights::down(std::int64_t step, std::int64_t tile) const {
  return down_[step].Pick(1, tile).Slice(0, 0, TileRows(ChunkOf(step), tile));
}

std::optional<View> DenseWeights::gate_up_bias(std::int64_t step, int gate_or_up,
                                               std::int64_t tile) const {
  if (!args_.gate_and_up_bias)
    return std::nullopt;
  return bias_[step]
      .Pick(1, gate_or_up)
      .Slice(1, tile, 1)
      .Slice(0, 0, TileRows(ChunkOf(step), tile));
}

std::optional<View> DenseWeights::gate_up_scale(std::int64_t step, int gate_or_up,
                                                std::int64_t tile) const {
  if (!args_.gate_up_proj_scale)
    return std::nullopt;
  return scale_[step]
      .Pick(1, gate_or_up)
      .Slice(1, tile, 1)
      .Slice(0, 0, TileRows(ChunkOf(step), tile));
}

std::optional<View> DenseWeights::down_bias(std::int64_t turn) const {
  if (!args_.down_bias)
    return std::nullopt;
  return down_bias_[turn];
}

std::optional<View> DenseWeights::down_scale(std::int64_t turn) const {
  if (!args_.down_proj_scale)
    return std::nullopt;
  return down_scale_[turn];
}

}  // namespace bwmm::kernels
