#include "kernels/moe_cte/output_rows.h"

#include <algorithm>

namespace bwmm::kernels {

using lang::Tile;
using lang::View;

namespace {

constexpr std::int64_t kRows = 128;

}  // namespace

void ZeroRows(lang::Core& nki, const View& plane, std::int64_t begin, std::int64_t end) {
  if (begin >= end)
    return;
  const Tile zeros = nki.Sbuf("zeros", plane.dtype(), kRows, {plane.free_size()});
  nki.memset(zeros, 0.0f);
  for (std::int64_t row = begin; row < end; row += kRows) {
    const std::int64_t count = std::min(kRows, end - row);
    nki.dma_copy(plane.Slice(0, row, count), zeros->Slice(0, 0, count));
  }
}

void ZeroOutput(lang::Core& nki, const lang::HbmTensor& output) {
  const std::int64_t rows = output.shape[0];
  const std::int64_t half = (rows + 1) / 2;
  const bool first = nki.program_id() == 0;
  ZeroRows(nki, output.At(), first ? 0 : half, first ? half : rows);
  nki.core_barrier(output);
}

void ReduceOutputs(lang::Core& nki, const lang::HbmTensor& output, const View& plane0,
                   const View& plane1) {
  nki.core_barrier(output);
  const std::int64_t rows = plane0.size(0);
  const std::int64_t tiles = (rows + kRows - 1) / kRows;
  const std::int64_t first = nki.program_id() == 0 ? 0 : tiles / 2;
  const std::int64_t last = nki.program_id() == 0 ? tiles / 2 : tiles;
  const lang::RotatingTile sums =
      nki.RotatingSbuf("plane_sum", 2, output.dtype, kRows, {plane0.free_size()});
  for (std::int64_t tile = first; tile < last; ++tile) {
    const std::int64_t count = std::min(kRows, rows - tile * kRows);
    const View row0 = plane0.Slice(0, tile * kRows, count);
    const View row1 = plane1.Slice(0, tile * kRows, count);
    const View sum = sums[tile].Slice(0, 0, count);
    nki.dma_compute(sum, {row0, row1});
    nki.dma_copy(row0, sum);
  }
  ZeroRows(nki, plane1, first * kRows, std::min(last * kRows, rows));
}

}  // namespace bwmm::kernels
