#include "kernels/single/matmul_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/single/expected_ref.h"
#include "kernels/single/tally_ref.h"

namespace bwmm::reference {
namespace {

// [k][columns] to [columns][k].
std::vector<double> Transposed(const std::vector<double>& rows, int k, int columns) {
  std::vector<double> result(rows.size());
  for (int r = 0; r < k; ++r) {
    for (int c = 0; c < columns; ++c)
      result[std::size_t{1} * c * k + r] = rows[std::size_t{1} * r * columns + c];
  }
  return result;
}

}  // namespace

Judgement JudgeMatmul(const MatmulCase& given, const std::vector<double>& out) {
  const std::vector<double> w = Transposed(given.stationary, given.k, given.m);
  const std::vector<double> x = Transposed(given.moving, given.k, given.n);
  Tally tally(given.bf16_psum);
  for (int i = 0; i < given.m; ++i) {
    const double* row = &out[std::size_t{1} * i * given.n];
    double largest = 0;
    for (int j = 0; j < given.n; ++j) {
      if (std::isfinite(row[j]))
        largest = std::max(largest, std::fabs(row[j]));
    }
    tally.Row(largest);
    for (int j = 0; j < given.n; ++j) {
      const Expected expected = ExpectedElement(given, &w[std::size_t{1} * i * given.k],
                                                &x[std::size_t{1} * j * given.k]);
      tally.Add(i, j, expected, row[j]);
    }
  }
  return tally.Finish();
}

}  // namespace bwmm::reference
