// A second, slow quantize_mx in doubles, written from the rule: frexp for floor(log2 amax), ldexp
// for V / X, and the table search of FormatOracle for the rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/numerics/format_oracle.h"

namespace bwmm::test {

struct QuantizeMxOracle {
  const FormatOracle& source;  // bf16 or fp16
  const FormatOracle& target;  // e4m3fn or e5m2
  bool x2 = true;

  // Floor of log2 of the target's largest value.
  int emax() const { return std::ilogb(target.magnitudes[target.format.max_code]); }

  // One group of 32 source codes, any order. Returns the scale code and fills the target codes.
  int Group(const std::vector<std::uint16_t>& group, std::vector<std::uint8_t>& codes) const {
    double amax = 0;
    bool special = false;
    for (const std::uint16_t code : group) {
      const double value = source.Value(code);
      special |= !std::isfinite(value);
      amax = std::max(amax, std::fabs(value));
    }
    codes.assign(group.size(), 0x7f);
    if (special)
      return 0xff;
    int exponent = -127;
    if (amax > 0) {
      int above = 0;
      std::frexp(amax, &above);  // amax is in [2^(above - 1), 2^above)
      exponent = std::max(exponent, above - 1 - (x2 ? emax() - 1 : emax()));
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      const double scaled = std::ldexp(source.Value(group[i]), -exponent);
      codes[i] = static_cast<std::uint8_t>(target.Round(scaled, target.format.max_code));
    }
    return exponent + 127;
  }
};

}  // namespace bwmm::test
