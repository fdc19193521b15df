#include <algorithm>
#include <cmath>

#include "kernels/moe_cte/formats_ref.h"
#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm::reference {
namespace {

// No rounding error exceeds its bound, sqrt(3) times the sigma a uniform one would have: with signs
// that do not conspire, the root mean square of a row stays below that many sigmas.
constexpr double kMaxRmsRatio = 2;

double UlpBf16(double magnitude) {
  return std::ldexp(1.0, std::max(magnitude > 0 ? std::ilogb(magnitude) : -126, -126) - 7);
}

// Values that leave no distance to measure: both NaN, or the same Inf (also where bf16 overflows).
bool MatchesNonFinite(double expected, double actual) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual);
  return RoundToBf16(expected) == actual;
}

}  // namespace

Comparison Compare(const MoeCteResult& expected, const std::uint16_t* rows) {
  Comparison result;
  bool all_zero = true;
  bool mismatch = false;
  for (int t = 0; t < expected.tokens; ++t) {
    const std::size_t first = static_cast<std::size_t>(t) * expected.hidden;
    double largest = 0;
    for (int h = 0; h < expected.hidden; ++h) {
      if (std::isfinite(expected.output[first + h]))
        largest = std::max(largest, std::abs(expected.output[first + h]));
    }
    double error_squares = 0;
    double sigma_squares = 0;
    for (int h = 0; h < expected.hidden; ++h) {
      const double want = expected.output[first + h];
      const double got = DecodeBf16(rows[first + h]);
      ++result.count;
      all_zero = all_zero && got == 0;
      double ratio = 0;
      if (!std::isfinite(want) || !std::isfinite(got)) {
        ratio = MatchesNonFinite(want, got) ? 0 : HUGE_VAL;
      } else {
        const double error = std::abs(got - want);
        const double bound = expected.bound[first + h];
        const double sigma = expected.sigma[first + h];
        ratio = error == 0 ? 0 : error / bound;
        error_squares += error * error;
        sigma_squares += sigma * sigma;
        if (largest > 0)
          result.max_row_rel = std::max(result.max_row_rel, error / largest);
        result.max_ulp_bf16 =
            std::max(result.max_ulp_bf16, error / UlpBf16(std::max(std::abs(want), largest / 256)));
      }
      // An infinite bound covers everything finite, and a NaN bound nothing.
      if (ratio > result.max_bound_ratio || std::isnan(ratio)) {
        result.max_bound_ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
        result.worst_token = t;
        result.worst_column = h;
      }
      mismatch = mismatch || !(ratio <= 1);
    }
    if (error_squares > 0) {
      result.max_rms_ratio =
          std::max(result.max_rms_ratio, std::sqrt(error_squares / sigma_squares));
    }
  }
  result.pass =
      result.count > 0 && !all_zero && !mismatch && !(result.max_rms_ratio > kMaxRmsRatio);
  return result;
}

}  // namespace bwmm::reference
