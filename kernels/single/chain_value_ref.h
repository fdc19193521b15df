// What a value may be after a chain of roundings, judged in double: a number within an error, and
// whether an intermediate must or may have left the range. Standard library only.
//
//   3.39e38, rounded      finite 3.39e38 +- 2e31
//   + 3.39e38, rounded    +Inf, certainly
//   + -3.39e38            +Inf still, though the sum of all three is finite
#pragma once

namespace bwmm::reference {

struct ChainValue {
  bool finite = true;  // may be a number: value, to `error`
  double value = 0;
  double error = 0;
  bool positive = false;  // may be +Inf
  bool negative = false;  // may be -Inf
  bool nan = false;       // may be NaN

  // Whether `got` is one of them; a number may be `bound` away from the value.
  bool Allows(double got, double bound) const;
};

struct RoundTo {
  double half_ulp;    // relative to the value
  double half_least;  // of the smallest subnormal
  double limit;       // magnitudes from here on round to Inf
};
inline constexpr RoundTo kToFp32 = {0x1p-24, 0x1p-150, 0x1.ffffffp127};
inline constexpr RoundTo kToBf16 = {0x1p-8, 0x1p-134, 0x1.ffp127};

// A number, Inf or NaN that is known.
ChainValue KnownValue(double value);
// The sum, not rounded.
ChainValue Sum(const ChainValue& a, const ChainValue& b);
ChainValue Rounded(ChainValue outcome, const RoundTo& format);

}  // namespace bwmm::reference
