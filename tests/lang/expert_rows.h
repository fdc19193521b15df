// y[t] = silu(x[ids[t]] W): rows of x picked by index, one matmul, one activation. Each core takes
// every other tile of 128 tokens.
//
//   x --gather--> rows [128, H] --PE--> rows^T [H, 128] --PE, W--> PSUM [128, N] --silu--> y
#pragma once

#include "kernels/lang/core.h"

namespace bwmm::kernels {

struct ExpertRowsArgs {
  lang::HbmTensor x;    // [R, H] bf16, H a multiple of 128
  lang::HbmTensor ids;  // [T] int32, T a multiple of 128
  lang::HbmTensor w;    // [H, N] bf16, N at most 512
  lang::HbmTensor y;    // [T, N] bf16
};

inline void ExpertRows(lang::Core& nki, const ExpertRowsArgs& args) {
  const std::int64_t h = args.w.shape[0], n = args.w.shape[1];
  const std::int64_t h_tiles = h / 128;

  const lang::Tile w = nki.Sbuf("w", DType::kBf16, 128, {h_tiles, n});
  const lang::RotatingTile ids = nki.RotatingSbuf("ids", 2, DType::kInt32, 128, {1});
  const lang::RotatingTile rows = nki.RotatingSbuf("rows", 2, DType::kBf16, 128, {h});
  const lang::RotatingTile rows_t =
      nki.RotatingSbuf("rows_t", 2, DType::kBf16, 128, {h_tiles, 128});
  const lang::RotatingTile out = nki.RotatingSbuf("out", 2, DType::kBf16, 128, {n});
  const lang::RotatingTile transposed =
      nki.RotatingPsum("transposed", 2, DType::kBf16, 128, {h_tiles, 128});
  const lang::RotatingTile acc = nki.RotatingPsum("acc", 2, DType::kFp32, 128, {n});

  nki.dma_copy(w, args.w.At().SplitRows(128));
  const lang::View x = args.x.At();
  const std::int64_t tiles = args.ids.shape[0] / 128;
  int turn = 0;
  for (std::int64_t tile = nki.program_id(); tile < tiles; tile += nki.num_programs(), ++turn) {
    nki.dma_copy(ids[turn], args.ids.Columns(tile * 128, 128, 1));
    nki.dma_copy(rows[turn], x, {.gather = x.RowsAt(ids[turn])});
    for (std::int64_t k = 0; k < h_tiles; ++k)
      nki.nc_transpose(transposed[turn].Pick(1, k), rows[turn].Slice(1, k * 128, 128));
    nki.tensor_copy(rows_t[turn], transposed[turn]);
    for (std::int64_t k = 0; k < h_tiles; ++k)
      nki.nc_matmul(acc[turn], rows_t[turn].Pick(1, k), w->Pick(1, k), {.accumulate = k > 0});
    nki.activation(out[turn], Activation::kSilu, acc[turn]);
    nki.dma_copy(args.y.At().Slice(0, tile * 128, 128), out[turn]);
  }
}

}  // namespace bwmm::kernels
