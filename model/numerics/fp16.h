// IEEE binary16. | sign | 5-bit exponent, bias 15 | 10-bit mantissa |, max 65504
#pragma once

#include <cstdint>

#include "model/numerics/small_float.h"

namespace bwmm {

class Fp16 {
 public:
  constexpr Fp16() = default;
  static constexpr Fp16 FromBits(std::uint16_t bits) { return Fp16(bits); }

  // Nearest even; overflow gives Inf, NaN gives 0x7e00, subnormals are kept.
  static constexpr Fp16 RoundFrom(float value) {
    return Fp16(static_cast<std::uint16_t>(
        small_float::Round<small_float::Fp16Format, Saturate::kNo>(value)));
  }

  constexpr std::uint16_t bits() const { return bits_; }

  // Exact; a NaN becomes the canonical fp32 NaN.
  constexpr float ToFloat() const { return small_float::Decode<small_float::Fp16Format>(bits_); }

  friend constexpr bool operator==(Fp16, Fp16) = default;

 private:
  explicit constexpr Fp16(std::uint16_t bits) : bits_(bits) {}

  std::uint16_t bits_ = 0;
};

}  // namespace bwmm
