#include "kernels/single/chain_value_ref.h"

#include <algorithm>
#include <cmath>

namespace bwmm::reference {

bool ChainValue::Allows(double got, double bound) const {
  if (std::isnan(got))
    return nan;
  if (std::isinf(got))
    return got > 0 ? positive : negative;
  return finite && std::fabs(got - value) <= bound;
}

ChainValue KnownValue(double value) {
  ChainValue outcome;
  outcome.finite = std::isfinite(value);
  outcome.value = outcome.finite ? value : 0;
  outcome.nan = std::isnan(value);
  outcome.positive = std::isinf(value) && value > 0;
  outcome.negative = std::isinf(value) && value < 0;
  return outcome;
}

ChainValue Sum(const ChainValue& a, const ChainValue& b) {
  ChainValue sum;
  sum.finite = a.finite && b.finite;
  if (sum.finite) {
    sum.value = a.value + b.value;
    // What the addition in double lost.
    const double other = sum.value - a.value;
    const double lost = (a.value - (sum.value - other)) + (b.value - other);
    sum.error = a.error + b.error + std::fabs(lost);
  }
  sum.positive = (a.positive && (b.positive || b.finite)) || (b.positive && a.finite);
  sum.negative = (a.negative && (b.negative || b.finite)) || (b.negative && a.finite);
  sum.nan = a.nan || b.nan || (a.positive && b.negative) || (a.negative && b.positive);
  return sum;
}

ChainValue Rounded(ChainValue outcome, const RoundTo& format) {
  if (!outcome.finite)
    return outcome;
  const double lowest = outcome.value - outcome.error;
  const double highest = outcome.value + outcome.error;
  outcome.positive |= highest >= format.limit;
  outcome.negative |= lowest <= -format.limit;
  outcome.finite = lowest < format.limit && highest > -format.limit;
  const double largest = std::min(std::fabs(outcome.value) + outcome.error, format.limit);
  outcome.error += std::max(format.half_ulp * largest, format.half_least);
  return outcome;
}

}  // namespace bwmm::reference
