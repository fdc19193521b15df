#include "kernels/moe_cte/dense_hidden.h"

#include <algorithm>

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr std::int64_t kTile = 128;
constexpr std::int64_t kTilesPerBank = 8;  // bf16 transposes of 128 columns in one PSUM bank

}  // namespace

DenseHidden::DenseHidden(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
                         int depth)
    : nki_(nki), args_(args), tokens_(tokens), tiles_(args.hidden() / kTile) {
  rows_ =
      nki.RotatingSbuf("hidden_rows", depth * tokens.tiles(), DType::kBf16, 128, {args.hidden()});
  psum_ =
      nki.RotatingPsum("transposed", nki.psum_depth(2), DType::kBf16, 128, {kTilesPerBank, kTile});
  transposed_ = nki.RotatingSbuf("hidden_t", depth, DType::kBf16, 128, {tiles_, args.block_size});
  // Skipped rows keep what is there; it must be a number.
  if (args.skip_dma.skip_token) {
    for (int i = 0; i < rows_.count(); ++i)
      nki.memset(rows_[i], 0.0f);
  }
}

void DenseHidden::Gather(std::int64_t turn) {
  const View hidden = args_.hidden_states.At();
  for (int t = 0; t < tokens_.tiles(); ++t) {
    const View& rows = rows_[turn * tokens_.tiles() + t];
    nki_.dma_copy(rows, hidden, {.gather = hidden.RowsAt(tokens_.ids(turn, t), tokens_.oob())});
    if (args_.expert_affinities_scaling_mode == AffinityScalingMode::kPreScale)
      nki_.tensor_scalar(rows, rows, AluOp::kMultiply, tokens_.affinity(turn, t));
  }
}

void DenseHidden::Transpose(std::int64_t turn) {
  for (int t = 0; t < tokens_.tiles(); ++t) {
    const View& rows = rows_[turn * tokens_.tiles() + t];
    for (std::int64_t h = 0; h < tiles_; h += kTilesPerBank) {
      const std::int64_t count = std::min(kTilesPerBank, tiles_ - h);
      const View psum = psum_[banks_used_++].Slice(1, 0, count);
      for (std::int64_t j = 0; j < count; ++j)
        nki_.nc_transpose(psum.Pick(1, j), rows.Slice(1, (h + j) * kTile, kTile));
      nki_.tensor_copy(transposed_[turn].Slice(1, h, count).Slice(2, t * kTile, kTile), psum,
                       Engine::kScalar);
    }
  }
}

}  // namespace bwmm::kernels
