#include "kernels/moe_cte/range_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/moe_cte/activation_ref.h"
#include "kernels/moe_cte/expert_bound_ref.h"

namespace bwmm::reference {
namespace {

// The least magnitudes that round to Inf: from halfway between the largest number and 2^128 on.
constexpr double kFp32Overflow = 0x1p128 - 0x1p103;
constexpr double kBf16Overflow = 0x1p128 - 0x1p119;
constexpr double kAlmost = 1 - 0x1p-22;   // what doubles, and a rounding to fp32 before, leave open
constexpr double kLargestExponent = 700;  // exp clamps its argument there

bool Has(const Range& x, unsigned outcome) {
  return (x.can & outcome) != 0;
}

bool CanBePositive(const Range& x) {
  return Has(x, kPositiveInf) || (Has(x, kFinite) && x.value + x.error > 0);
}

bool CanBeNegative(const Range& x) {
  return Has(x, kNegativeInf) || (Has(x, kFinite) && x.value - x.error < 0);
}

bool CanBeZero(const Range& x) {
  return Has(x, kFinite) && !(std::abs(x.value) > x.error);
}

Range Between(double low, double high, unsigned can) {
  return {(low + high) / 2, (high - low) / 2, can};
}

unsigned OverflowOutcomes(double low, double high, double limit) {
  unsigned can = 0;
  if (!(high < limit * kAlmost))
    can |= kPositiveInf;
  if (!(low > -limit * kAlmost))
    can |= kNegativeInf;
  // Some of what lies between must round to a number; NaN ends know nothing.
  if (!(low >= limit || high <= -limit))
    can |= kFinite;
  return can;
}

Range Rounded(const Range& x, double unit, double limit) {
  if (!Has(x, kFinite) || (x.value == 0 && x.error == 0))
    return x;
  const double error = std::isnan(x.error) ? HUGE_VAL : x.error;
  const unsigned can =
      (x.can & ~unsigned{kFinite}) | OverflowOutcomes(x.value - error, x.value + error, limit);
  if ((can & kFinite) == 0)
    return {.can = can};
  return {x.value, error + unit * (std::abs(x.value) + error) + kTiny, can};
}

bool IsGated(Function function) {
  return function == Function::kSilu || function == Function::kSwish ||
         function == Function::kGelu || function == Function::kGeluTanh;
}

// What the function makes of all numbers in x. Monotone but for the gated ones, which fall from -0
// to above -0.28 somewhere in [-2, 0] and rise from there.
Range ImageOf(Function function, const Range& x) {
  constexpr double kLeastPlace = -2;
  constexpr double kLeast = -0.28;
  const auto clamped = [&](double y) {
    return function == Function::kExp ? std::min(y, kLargestExponent) : y;
  };
  const double from = clamped(x.value - x.error);
  const double to = clamped(x.value + x.error);
  double low = std::min(Evaluate(function, from), Evaluate(function, to));
  const double high = std::max(Evaluate(function, from), Evaluate(function, to));
  if (IsGated(function) && from < 0 && to > kLeastPlace)
    low = std::min(low, kLeast);
  const Range by_ends = Between(low, high, kFinite);
  const Range by_slope{Evaluate(function, clamped(x.value)),
                       SpreadBound(function, clamped(x.value), x.error)};
  return by_slope.error < by_ends.error ? by_slope : by_ends;
}

}  // namespace

Range Exactly(double value) {
  if (std::isnan(value))
    return {.can = kNaN};
  if (std::isinf(value))
    return {.can = value > 0 ? kPositiveInf : kNegativeInf};
  return {.value = value};
}

unsigned AddOutcomes(unsigned a, unsigned b) {
  unsigned can = (a & b & kFinite) | ((a | b) & kNaN);
  for (const unsigned infinity : {kPositiveInf, kNegativeInf}) {
    const unsigned stays = kFinite | infinity;
    if (((a & infinity) != 0 && (b & stays) != 0) || ((b & infinity) != 0 && (a & stays) != 0))
      can |= infinity;
    const unsigned other = (kPositiveInf | kNegativeInf) ^ infinity;
    if ((a & infinity) != 0 && (b & other) != 0)
      can |= kNaN;
  }
  return can;
}

Range Plus(const Range& a, const Range& b) {
  const unsigned can = AddOutcomes(a.can, b.can);
  if ((can & kFinite) == 0)
    return {.can = can};
  return {a.value + b.value, a.error + b.error, can};
}

Range Times(const Range& a, const Range& b) {
  constexpr unsigned kInf = kPositiveInf | kNegativeInf;
  unsigned can = (a.can & b.can & kFinite) | ((a.can | b.can) & kNaN);
  if ((Has(a, kInf) && CanBeZero(b)) || (Has(b, kInf) && CanBeZero(a)))
    can |= kNaN;
  for (const auto& [inf, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if ((Has(*inf, kPositiveInf) && CanBePositive(*other)) ||
        (Has(*inf, kNegativeInf) && CanBeNegative(*other)))
      can |= kPositiveInf;
    if ((Has(*inf, kPositiveInf) && CanBeNegative(*other)) ||
        (Has(*inf, kNegativeInf) && CanBePositive(*other)))
      can |= kNegativeInf;
  }
  if ((can & kFinite) == 0)
    return {.can = can};
  return {a.value * b.value,
          std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error, can};
}

Range Either(const Range& a, const Range& b) {
  const unsigned can = a.can | b.can;
  if (!Has(a, kFinite))
    return {b.value, b.error, can};
  if (!Has(b, kFinite))
    return {a.value, a.error, can};
  return Between(std::min(a.value - a.error, b.value - b.error),
                 std::max(a.value + a.error, b.value + b.error), can);
}

Range Clamped(const Range& x, double lower, double upper) {
  const auto clamp = [&](double value) { return std::max(std::min(value, upper), lower); };
  Range result{.can = x.can & kNaN};
  if (Has(x, kFinite))
    result = Either(result, Between(clamp(x.value - x.error), clamp(x.value + x.error), kFinite));
  for (const double infinity : {HUGE_VAL, -HUGE_VAL}) {
    if (Has(x, infinity > 0 ? kPositiveInf : kNegativeInf))
      result = Either(result, Exactly(clamp(infinity)));
  }
  return result;
}

Range RoundedToFp32(const Range& x) {
  return Rounded(x, kUnitFp32, kFp32Overflow);
}

Range RoundedToBf16(const Range& x) {
  return Rounded(RoundedToFp32(x), kUnitBf16, kBf16Overflow);
}

Range Activated(Function function, const Range& x) {
  Range result{.can = x.can & kNaN};
  if (Has(x, kFinite))
    result = Either(result, ImageOf(function, x));
  for (const double infinity : {HUGE_VAL, -HUGE_VAL}) {
    if (Has(x, infinity > 0 ? kPositiveInf : kNegativeInf))
      result = Either(result, Exactly(Evaluate(function, infinity)));
  }
  return RoundedToBf16(result);
}

unsigned OutcomesOfBf16(double low, double high) {
  return OverflowOutcomes(low, high, kBf16Overflow);
}

}  // namespace bwmm::reference
