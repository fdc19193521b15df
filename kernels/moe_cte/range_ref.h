// What a step of the documented path may give: a number in value +- error, or one of the values
// that are no numbers. Steps before a rounding are exact; a rounding may leave the range of its
// format.
//
//   3e38 +- 0   plus   1e38 +- 0   =  4e38, rounded to fp32: +Inf
//   3e38 +- 1e37, rounded to bf16: a number         3.39e38 +- 1e37: a number or +Inf
#pragma once

#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm::reference {

// Below this nothing can overflow, whatever a few more roundings add.
inline constexpr double kSafeMagnitude = 0x1p126;

struct Range {
  double value = 0;
  double error = 0;
  unsigned can = kFinite;  // set of Outcome; without kFinite value and error are 0
};

Range Exactly(double value);
Range Plus(const Range& a, const Range& b);
Range Times(const Range& a, const Range& b);
// The least range with everything that is in a or b.
Range Either(const Range& a, const Range& b);
Range Clamped(const Range& x, double lower, double upper);

Range RoundedToFp32(const Range& x);
Range RoundedToBf16(const Range& x);  // as engines do it: to fp32 first
// The function in double, then rounded to bf16.
Range Activated(Function function, const Range& x);

// Outcomes of a sum whose terms have these.
unsigned AddOutcomes(unsigned a, unsigned b);
// The bf16 values that sums up to `high` and down to `low` may end in.
unsigned OutcomesOfBf16(double low, double high);

}  // namespace bwmm::reference
