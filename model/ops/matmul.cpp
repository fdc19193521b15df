#include "model/ops/matmul.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace bwmm::ops {
namespace {

constexpr int kTileColumns = 64;
constexpr int kTileRows = 4;
constexpr float kNan = std::bit_cast<float>(0x7fc00000U);

// A tile of outputs stays in registers while k runs: w is [k][stride], x is [k][kTileRows].
void MultiplyTile(const float* w, int stride, const float* x, int k, float* out) {
  float p[kTileRows][kTileColumns] = {};
  for (int i = 0; i < k; ++i) {
    const float* w_row = w + static_cast<std::ptrdiff_t>(i) * stride;
    for (int r = 0; r < kTileRows; ++r) {
      const float scalar = x[i * kTileRows + r];
      for (int c = 0; c < kTileColumns; ++c)
        p[r][c] = std::fma(w_row[c], scalar, p[r][c]);
    }
  }
  std::copy_n(&p[0][0], kTileRows * kTileColumns, out);
}

bool AllZero(const float* values, int count) {
  return std::all_of(values, values + count, [](float value) { return value == 0.0F; });
}

}  // namespace

void Matmul(PeFormat w_format, const std::uint32_t* w, PeFormat x_format, const std::uint32_t* x,
            int k, int m, int n, float* out) {
  const int stride = (m + kTileColumns - 1) / kTileColumns * kTileColumns;
  std::vector<float> w_values(static_cast<std::size_t>(k) * stride);
  const ElementDecoder decode_w(w_format);
  const ElementDecoder decode_x(x_format);
  bool w_finite = true;
  for (int i = 0; i < k; ++i) {
    for (int c = 0; c < m; ++c) {
      const float value = decode_w.Scalar(w[static_cast<std::ptrdiff_t>(i) * m + c]);
      w_finite = w_finite && std::isfinite(value);
      w_values[static_cast<std::size_t>(i) * stride + c] = value;
    }
  }

  std::vector<float> x_values(static_cast<std::size_t>(k) * kTileRows);
  float tile[kTileRows * kTileColumns];
  for (int row = 0; row < n; row += kTileRows) {
    const int rows = std::min(kTileRows, n - row);
    for (int i = 0; i < k; ++i) {
      for (int r = 0; r < rows; ++r)
        x_values[i * kTileRows + r] =
            decode_x.Scalar(x[static_cast<std::ptrdiff_t>(i) * n + row + r]);
    }
    // Padding rows are common, and 0 * finite summed from +0 is +0.
    if (w_finite && AllZero(x_values.data(), k * kTileRows)) {
      std::fill_n(out + static_cast<std::ptrdiff_t>(row) * m, static_cast<std::ptrdiff_t>(rows) * m,
                  0.0F);
      continue;
    }
    for (int column = 0; column < m; column += kTileColumns) {
      MultiplyTile(w_values.data() + column, stride, x_values.data(), k, tile);
      for (int r = 0; r < rows; ++r) {
        float* out_row = out + static_cast<std::ptrdiff_t>(row + r) * m + column;
        for (int c = 0; c < std::min(kTileColumns, m - column); ++c) {
          const float value = tile[r * kTileColumns + c];
          out_row[c] = value == value ? value : kNan;
        }
      }
    }
  }
}

void MatmulDoubleRow(DType w_type, const std::uint32_t* w, DType x_type, const std::uint32_t* x,
                     int k, int m, int n, float* out) {
  const auto split = [k](const std::uint32_t* pairs, int columns) {
    std::vector<std::uint32_t> rows;
    for (int i = 0; i < k; ++i) {
      for (const int shift : {0, 8}) {
        for (int c = 0; c < columns; ++c)
          rows.push_back(pairs[static_cast<std::ptrdiff_t>(i) * columns + c] >> shift & 0xff);
      }
    }
    return rows;
  };
  Matmul(w_type, split(w, m).data(), x_type, split(x, n).data(), 2 * k, m, n, out);
}

}  // namespace bwmm::ops
