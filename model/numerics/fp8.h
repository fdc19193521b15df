// The three fp8 formats. A code is | sign | exponent | mantissa |, most significant bit first.
//
//               bias  min subnormal  max finite    Inf    NaN
//   Fp8E4M3Fn     7       2^-9       448   (0x7e)  none   0x7f, 0xff
//   Fp8E4M3       7       2^-9       240   (0x77)  0x78   0x79..0x7f, 0xf9..0xff
//   Fp8E5M2      15       2^-16      57344 (0x7b)  0x7c   0x7d..0x7f, 0xfd..0xff
#pragma once

#include <cstdint>

#include "model/numerics/small_float.h"

namespace bwmm {

template <typename Format>
class Fp8 {
 public:
  constexpr Fp8() = default;
  static constexpr Fp8 FromBits(std::uint8_t bits) { return Fp8(bits); }

  // Nearest even; NaN gives 0x7f in all three formats, subnormals are kept. Overflow: see Saturate.
  static constexpr Fp8 RoundFrom(float value, Saturate saturate) {
    const std::uint32_t code = saturate == Saturate::kYes
                                   ? small_float::Round<Format, Saturate::kYes>(value)
                                   : small_float::Round<Format, Saturate::kNo>(value);
    return Fp8(static_cast<std::uint8_t>(code));
  }

  constexpr std::uint8_t bits() const { return bits_; }

  // Exact; a NaN becomes the canonical fp32 NaN.
  constexpr float ToFloat() const { return small_float::Decode<Format>(bits_); }

  friend constexpr bool operator==(Fp8, Fp8) = default;

 private:
  explicit constexpr Fp8(std::uint8_t bits) : bits_(bits) {}

  std::uint8_t bits_ = 0;
};

using Fp8E4M3Fn = Fp8<small_float::E4M3FnFormat>;
using Fp8E4M3 = Fp8<small_float::E4M3Format>;
using Fp8E5M2 = Fp8<small_float::E5M2Format>;

}  // namespace bwmm
