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

// The upper 12 of 24 places of an fp32 value, or the rest with its sign; no rest of Inf and NaN.
double HalfOf(double value, bool high) {
  if (!std::isfinite(value))
    return high ? value : NAN;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double place = std::ldexp(1.0, std::max(exponent - 1, -126) - 11);
  const double upper = std::trunc(value / place) * place;
  return high ? upper : std::copysign(value - upper, value);
}

// Every pass of `rows` rows four times, in the order of the machine: lower halves of the stationary
// operand first, each with the lower half of the moving one first. The last is filled up with
// zeros.
std::vector<double> FourPasses(const std::vector<double>& values, int k, int columns, int rows,
                               bool stationary) {
  std::vector<double> result;
  for (int first = 0; first < k; first += rows) {
    for (int pass = 0; pass < 4; ++pass) {
      const bool high = stationary ? pass >= 2 : pass % 2 == 1;
      for (int r = first; r < first + rows; ++r) {
        for (int c = 0; c < columns; ++c)
          result.push_back(r < k ? HalfOf(values[std::size_t{1} * r * columns + c], high) : 0);
      }
    }
  }
  return result;
}

MatmulCase InPasses(const MatmulCase& given) {
  MatmulCase all = given;
  all.fp32 = false;
  all.pass_rows = std::min(given.pass_rows, given.k);
  all.stationary = FourPasses(given.stationary, given.k, given.m, all.pass_rows, true);
  all.moving = FourPasses(given.moving, given.k, given.n, all.pass_rows, false);
  all.k = 4 * all.pass_rows * ((given.k + all.pass_rows - 1) / all.pass_rows);
  return all;
}

}  // namespace

Judgement JudgeMatmul(const MatmulCase& given, const std::vector<double>& out) {
  if (given.fp32)
    return JudgeMatmul(InPasses(given), out);
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
