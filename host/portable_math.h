// log and exp from IEEE additions and multiplications only, so that generated inputs do not depend
// on the host's libm. A few ulp of double; both are for finite arguments, log for positive ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bwmm::host {

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)).
constexpr double PortableLog(double x) {
  int scaled = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    scaled = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023 + scaled;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double series = 0;
  for (int n = 25; n >= 1; n -= 2)
    series = series * z2 + 1.0 / n;
  return 2 * z * series + exponent * 0.6931471805599453;
}

// x = n log 2 + r with |r| <= log(2) / 2; Taylor series of e^r.
constexpr double PortableExp(double x) {
  x = std::clamp(x, -745.0, 709.0);
  const int n = static_cast<int>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double series = 1;
  for (int k = 20; k >= 1; --k)
    series = 1 + series * r / k;
  // Two factors, so that neither leaves the normal range.
  const int half = n / 2;
  const auto power = [](int e) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
  };
  return series * power(half) * power(n - half);
}

}  // namespace bwmm::host
