#include "model/ops/matmul_mx.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/ops/mx_group.h"
#include "model/support/check.h"

namespace bwmm::ops {
namespace {

constexpr int kTileColumns = 32;
constexpr int kTileRows = 4;
constexpr float kNan = std::bit_cast<float>(0x7fc00000U);

// One group for a tile of outputs: adds the rounded, scaled sums to p.
void AccumulateGroup(const MxOperand& w, int column, const MxOperand& x, int g,
                     float p[kTileRows][kTileColumns]) {
  double sum[kTileRows][kTileColumns] = {};
  for (int step = g * kGroupElements; step < (g + 1) * kGroupElements; ++step) {
    const double* w_row = w.values.data() + static_cast<std::ptrdiff_t>(step) * w.stride + column;
    for (int r = 0; r < kTileRows; ++r) {
      const double scalar = x.values[static_cast<std::size_t>(step) * kTileRows + r];
      for (int c = 0; c < kTileColumns; ++c)
        sum[r][c] = std::fma(w_row[c], scalar, sum[r][c]);
    }
  }
  const double* w_scale = w.scale.data() + static_cast<std::ptrdiff_t>(g) * w.stride + column;
  const std::uint8_t* w_span = w.span.data() + static_cast<std::ptrdiff_t>(g) * w.stride + column;
  const int widest = *std::max_element(w_span, w_span + kTileColumns);
  for (int r = 0; r < kTileRows; ++r) {
    const double x_scale = x.scale[static_cast<std::size_t>(g) * kTileRows + r];
    const int x_span = x.span[static_cast<std::size_t>(g) * kTileRows + r];
    float term[kTileColumns];
    for (int c = 0; c < kTileColumns; ++c)
      term[c] = static_cast<float>(sum[r][c] * w_scale[c] * x_scale);
    if (widest + x_span > kExactSpanBits) {
      for (int c = 0; c < kTileColumns; ++c) {
        if (w_span[c] + x_span > kExactSpanBits && std::isfinite(sum[r][c]))
          term[c] = ExactGroup(w, column + c, x, r, g);
      }
    }
    for (int c = 0; c < kTileColumns; ++c)
      p[r][c] += term[c];
  }
}

}  // namespace

void MatmulMx(DType w_type, const std::uint32_t* w, const std::uint8_t* w_scale, DType x_type,
              const std::uint32_t* x, const std::uint8_t* x_scale, int k, int m, int n,
              float* out) {
  Check(kMxGroup.IsWhole(k), "an MX matmul has whole scale groups");
  const int stride = (m + kTileColumns - 1) / kTileColumns * kTileColumns;
  const MxOperand w_values(w_type, w, w_scale, k, m, 0, m, stride);
  for (int row = 0; row < n; row += kTileRows) {
    const int rows = std::min(kTileRows, n - row);
    const MxOperand x_values(x_type, x, x_scale, k, n, row, rows, kTileRows);
    // Padding rows are common, and a group of zero products is +0.
    if (w_values.finite && x_values.finite && x_values.zero) {
      std::fill_n(out + static_cast<std::ptrdiff_t>(row) * m, static_cast<std::ptrdiff_t>(rows) * m,
                  0.0F);
      continue;
    }
    for (int column = 0; column < m; column += kTileColumns) {
      float p[kTileRows][kTileColumns] = {};
      for (int g = 0; g < kMxGroup.ScaleRows(k); ++g)
        AccumulateGroup(w_values, column, x_values, g, p);
      for (int r = 0; r < rows; ++r) {
        float* out_row = out + static_cast<std::ptrdiff_t>(row + r) * m + column;
        for (int c = 0; c < std::min(kTileColumns, m - column); ++c)
          out_row[c] = p[r][c] == p[r][c] ? p[r][c] : kNan;
      }
    }
  }
}

}  // namespace bwmm::ops
