// fp4 e2m1: | sign | 2-bit exponent, bias 1 | 1-bit mantissa |, no Inf, no NaN.
//
//   code  0   1   2   3    4   5   6   7      8..15: the same, negative
//   value 0  0.5  1  1.5   2   3   4   6
#pragma once

#include <bit>
#include <cstdint>

namespace bwmm {

class Fp4E2M1Fn {
 public:
  constexpr Fp4E2M1Fn() = default;

  // Only the low four bits count.
  static constexpr Fp4E2M1Fn FromBits(std::uint8_t bits) { return Fp4E2M1Fn(bits & 0xf); }

  // Nearest even, saturating to +-6. The format has no NaN: a NaN gives +6, which stands out where
  // a zero would hide.
  static constexpr Fp4E2M1Fn RoundFrom(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffff) > 0x7f800000)
      return Fp4E2M1Fn(0x7);
    const float magnitude = std::bit_cast<float>(word & 0x7fffffff);
    // The tie between code n and n + 1 goes to the even one of the two.
    constexpr float kTies[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
    std::uint8_t code = 0;
    for (int n = 0; n < 7; ++n)
      code += n % 2 == 0 ? magnitude > kTies[n] : magnitude >= kTies[n];
    return Fp4E2M1Fn(static_cast<std::uint8_t>(code | (word >> 31) << 3));
  }

  constexpr std::uint8_t bits() const { return bits_; }

  constexpr float ToFloat() const {
    constexpr float kValues[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    const float magnitude = kValues[bits_ & 7];
    return (bits_ & 8) ? -magnitude : magnitude;
  }

  friend constexpr bool operator==(Fp4E2M1Fn, Fp4E2M1Fn) = default;

 private:
  explicit constexpr Fp4E2M1Fn(std::uint8_t bits) : bits_(bits) {}

  std::uint8_t bits_ = 0;
};

}  // namespace bwmm
