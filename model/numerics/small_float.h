// Decoding and rounding of IEEE-like floats of at most 16 bits, the one place where the value types
// (fp16.h, fp8.h) and the bulk loops (convert.h) get their arithmetic from.
//
//   code:  | sign | exponent (E bits) | mantissa (M bits) |
//
// Everything is branch-free on 32-bit words, so a loop over it vectorizes.
#pragma once

#include <bit>
#include <cstdint>

namespace bwmm {

enum class Saturate : bool {
  kNo,   // overflow gives Inf, or NaN in a format without Inf
  kYes,  // overflow and Inf give the largest finite value
};

}  // namespace bwmm

namespace bwmm::small_float {

constexpr std::uint32_t kFp32Abs = 0x7fffffff;
constexpr std::uint32_t kFp32Inf = 0x7f800000;
constexpr std::uint32_t kFp32Nan = 0x7fc00000;
constexpr int kFp32Bias = 127;
constexpr int kFp32MantissaBits = 23;

// A power of two with an exponent in fp32's normal range.
constexpr float PowerOfTwo(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + kFp32Bias)
                              << kFp32MantissaBits);
}

template <int kExponentBits, int kMantissaBits_, bool kHasInf_, std::uint32_t kNan_>
struct Format {
  static constexpr int kMantissaBits = kMantissaBits_;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kSign = 1u << (kExponentBits + kMantissaBits);
  static constexpr bool kHasInf = kHasInf_;
  static constexpr std::uint32_t kNan = kNan_;
  static constexpr std::uint32_t kInf = kSign - (1u << kMantissaBits);  // IEEE place of Inf
  static constexpr std::uint32_t kMax = kHasInf ? kInf - 1 : kSign - 2;
};

using Fp16Format = Format<5, 10, true, 0x7e00>;
using E4M3FnFormat = Format<4, 3, false, 0x7f>;
using E4M3Format = Format<4, 3, true, 0x7f>;
using E5M2Format = Format<5, 2, true, 0x7f>;

// Exact. NaN codes become the canonical fp32 NaN.
template <typename F>
constexpr float Decode(std::uint32_t code) {
  constexpr int kShift = kFp32MantissaBits - F::kMantissaBits;
  const std::uint32_t magnitude = code & (F::kSign - 1);
  // The multiplication moves the exponent bias and normalizes subnormal codes in one exact step.
  const float scaled = std::bit_cast<float>(magnitude << kShift) * PowerOfTwo(kFp32Bias - F::kBias);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(scaled);
  if constexpr (F::kHasInf)
    bits = magnitude == F::kInf ? kFp32Inf : bits;
  const bool nan = magnitude > (F::kHasInf ? F::kInf : F::kMax);
  const std::uint32_t sign = (code & F::kSign) ? 0x80000000u : 0u;
  return std::bit_cast<float>(nan ? kFp32Nan : bits | sign);
}

// One round-to-nearest-even; the range test looks at the rounded value. NaN becomes F::kNan.
template <typename F, Saturate kSaturate>
constexpr std::uint32_t Round(float value) {
  constexpr int kShift = kFp32MantissaBits - F::kMantissaBits;
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = word & kFp32Abs;

  // Normal results: round the mantissa by integer addition, then move the bias.
  const std::uint32_t odd = (magnitude >> kShift) & 1;
  const std::uint32_t rounded = (magnitude + ((1u << (kShift - 1)) - 1) + odd) >> kShift;
  const std::uint32_t normal =
      rounded - (static_cast<std::uint32_t>(kFp32Bias - F::kBias) << F::kMantissaBits);

  // Subnormal results: adding a number whose ulp is the smallest subnormal makes the fp32 adder
  // round to that grid; the code is then the low bits of the sum.
  constexpr float kGrid = PowerOfTwo(1 - F::kBias + kShift);
  constexpr std::uint32_t kGridBits = std::bit_cast<std::uint32_t>(kGrid);
  constexpr std::uint32_t kMinNormal = std::bit_cast<std::uint32_t>(PowerOfTwo(1 - F::kBias));
  const bool is_subnormal = magnitude < kMinNormal;
  const float small = std::bit_cast<float>(is_subnormal ? magnitude : 0u);
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(small + kGrid) - kGridBits;

  constexpr std::uint32_t kOverflow =
      kSaturate == Saturate::kYes ? F::kMax : (F::kHasInf ? F::kInf : F::kNan);
  std::uint32_t code = is_subnormal ? subnormal : normal;
  code = !is_subnormal && code > F::kMax ? kOverflow : code;
  code |= (word >> 31) ? F::kSign : 0u;
  constexpr bool kOverflowIsNan = kSaturate == Saturate::kNo && !F::kHasInf;
  const bool nan = magnitude > kFp32Inf || (kOverflowIsNan && (code & ~F::kSign) == F::kNan);
  return nan ? F::kNan : code;
}

}  // namespace bwmm::small_float
