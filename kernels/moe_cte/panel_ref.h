// The reference's matrix loop: a panel of decoded weight columns times a set of rows, in double.
//
//             16 columns
//   k  [ w w w w .. w ]
//   |  [ w w w w .. w ]  x  rows x[r][k]  ->  sums[r][16 columns]
//   v  [ w w w w .. w ]
#pragma once

#include <cstddef>

namespace bwmm::reference {

inline constexpr int kColumns = 16;
inline constexpr int kPassRows = 512;  // contraction elements of one pass

// GCC and Clang split it into what the host has.
using Vec = double __attribute__((vector_size(kColumns * sizeof(double) / 2)));

struct Panel {
  alignas(64) double weight[kPassRows][kColumns];

  template <typename Function>
  void Map(const Function& function) {
    for (auto& row : weight) {
      for (double& w : row)
        w = function(w);
    }
  }
};

struct PanelSums {
  alignas(64) double value[kColumns];
};

// sums[r] = sum over k < depth of x[r * stride + k] * weight[k]; kRows rows at once.
template <int kRows>
void MultiplyRows(const Panel& panel, int depth, const double* x, std::size_t stride,
                  PanelSums* sums) {
  Vec low[kRows] = {};
  Vec high[kRows] = {};
  for (int k = 0; k < depth; ++k) {
    const Vec w0 = *reinterpret_cast<const Vec*>(&panel.weight[k][0]);
    const Vec w1 = *reinterpret_cast<const Vec*>(&panel.weight[k][kColumns / 2]);
    for (int r = 0; r < kRows; ++r) {
      const double value = x[r * stride + k];
      low[r] += value * w0;
      high[r] += value * w1;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    *reinterpret_cast<Vec*>(&sums[r].value[0]) = low[r];
    *reinterpret_cast<Vec*>(&sums[r].value[kColumns / 2]) = high[r];
  }
}

inline void Multiply(const Panel& panel, int depth, const double* x, std::size_t stride, int rows,
                     PanelSums* sums) {
  int r = 0;
  for (; r + 4 <= rows; r += 4)
    MultiplyRows<4>(panel, depth, x + r * stride, stride, sums + r);
  for (; r < rows; ++r)
    MultiplyRows<1>(panel, depth, x + r * stride, stride, sums + r);
}

}  // namespace bwmm::reference
