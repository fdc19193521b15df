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
  const int cores = nki.num_programs();
  const auto cut = [&](int core) { return (output.shape[0] * core + cores - 1) / cores; };
  ZeroRows(nki, output.At(), cut(nki.program_id()), cut(nki.program_id() + 1));
  nki.core_barrier(output);
}

void ReduceOutputs(lang::Core& nki, const lang::HbmTensor& output,
                   const std::vector<View>& planes) {
  if (planes.size() == 1)
    return;
  nki.core_barrier(output);
  const std::int64_t rows = planes[0].size(0);
  const std::int64_t tiles = (rows + kRows - 1) / kRows;
  const std::int64_t first = tiles * nki.program_id() / nki.num_programs();
  const std::int64_t last = tiles * (nki.program_id() + 1) / nki.num_programs();
  const lang::RotatingTile sums =
      nki.RotatingSbuf("plane_sum", 2, output.dtype, kRows, {planes[0].free_size()});
  for (std::int64_t tile = first; tile < last; ++tile) {
    const std::int64_t count = std::min(kRows, rows - tile * kRows);
    std::vector<View> parts;
    for (const View& plane : planes)
      parts.push_back(plane.Slice(0, tile * kRows, count));
    const View sum = sums[tile].Slice(0, 0, count);
    nki.dma_compute(sum, parts);
    nki.dma_copy(parts[0], sum);
  }
  for (std::size_t plane = 1; plane < planes.size(); ++plane)
    ZeroRows(nki, planes[plane], first * kRows, std::min(last * kRows, rows));
}

}  // namespace bwmm::kernels
