// A second, slow implementation of the small float formats: values from the definition of the
// format by ldexp, rounding by searching the sorted table of values. Shares no code with model/.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace bwmm::test {

struct FormatOracle {
  // What the codes above `max_code` of the positive half mean; `inf_code` is -1 without Inf.
  struct Definition {
    int exponent_bits;
    int mantissa_bits;
    int bias;
    int max_code;  // of the largest finite value
    int inf_code;
    int nan_code;  // the canonical one, -1 without NaN
  };

  explicit FormatOracle(const Definition& definition) : format(definition) {
    // One value more than there are: where the grid would go on decides what overflows.
    for (int code = 0; code <= format.max_code + 1; ++code)
      magnitudes.push_back(OnGrid(code));
  }

  int sign_bit() const { return 1 << (format.exponent_bits + format.mantissa_bits); }

  double OnGrid(int code) const {
    const int exponent = code >> format.mantissa_bits;
    const int mantissa = code & ((1 << format.mantissa_bits) - 1);
    if (exponent == 0)
      return std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits);
    return std::ldexp(mantissa + (1 << format.mantissa_bits),
                      exponent - format.bias - format.mantissa_bits);
  }

  double Value(int code) const {
    const int magnitude = code & (sign_bit() - 1);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (magnitude <= format.max_code)
      value = magnitudes[magnitude];
    else if (magnitude == format.inf_code)
      value = std::numeric_limits<double>::infinity();
    return (code & sign_bit()) ? -value : value;
  }

  // Nearest, the tie to the even code. `overflow_code` answers values beyond the grid and Inf.
  int Round(double value, int overflow_code) const {
    if (std::isnan(value))
      return format.nan_code;
    const double magnitude = std::fabs(value);
    const auto above = std::lower_bound(magnitudes.begin(), magnitudes.end(), magnitude);
    int code = static_cast<int>(above - magnitudes.begin());
    if (above != magnitudes.end() && code > 0) {
      const double middle = (magnitudes[code - 1] + magnitudes[code]) / 2;
      if (magnitude < middle || (magnitude == middle && code % 2 == 1))
        --code;
    }
    if (code > format.max_code)
      code = overflow_code;
    if (code == format.nan_code)
      return code;
    return std::signbit(value) ? code | sign_bit() : code;
  }

  Definition format;
  std::vector<double> magnitudes;
};

// Inputs that can go wrong in a rounding to the given format: every bf16 value, every value of the
// format and every midpoint with its fp32 neighbours, and random fp32 words.
inline std::vector<float> RoundingInputs(const FormatOracle& oracle, std::uint32_t seed) {
  std::vector<float> inputs;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    inputs.push_back(std::bit_cast<float>(high << 16));
  const float far = std::numeric_limits<float>::infinity();
  for (std::size_t code = 0; code + 1 < oracle.magnitudes.size(); ++code) {
    for (const double point :
         {oracle.magnitudes[code], (oracle.magnitudes[code] + oracle.magnitudes[code + 1]) / 2}) {
      const float exact = static_cast<float>(point);
      for (const float input : {std::nextafter(exact, -far), exact, std::nextafter(exact, far)}) {
        inputs.push_back(input);
        inputs.push_back(-input);
      }
    }
  }
  std::mt19937 random(seed);
  for (int i = 0; i < 1'000'000; ++i)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return inputs;
}

inline bool SameBits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// The fp32 word a decoder must give: exact, or the canonical NaN.
inline float AsFloat(double value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7fc00000u) : static_cast<float>(value);
}

inline const FormatOracle& Bf16Oracle() {
  static const FormatOracle oracle({8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0});
  return oracle;
}
inline const FormatOracle& Fp16Oracle() {
  static const FormatOracle oracle({5, 10, 15, 0x7bff, 0x7c00, 0x7e00});
  return oracle;
}
inline const FormatOracle& E4M3FnOracle() {
  static const FormatOracle oracle({4, 3, 7, 0x7e, -1, 0x7f});
  return oracle;
}
inline const FormatOracle& E4M3Oracle() {
  static const FormatOracle oracle({4, 3, 7, 0x77, 0x78, 0x7f});
  return oracle;
}
inline const FormatOracle& E5M2Oracle() {
  static const FormatOracle oracle({5, 2, 15, 0x7b, 0x7c, 0x7f});
  return oracle;
}
inline const FormatOracle& E2M1Oracle() {
  static const FormatOracle oracle({2, 1, 1, 0x7, -1, -1});
  return oracle;
}

}  // namespace bwmm::test
