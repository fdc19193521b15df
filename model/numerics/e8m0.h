// E8M0, the scale of an MX group: 2^(code - 127), no sign, no zero; 0xff is NaN.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bwmm {

class E8M0 {
 public:
  static constexpr std::uint8_t kNan = 0xff;
  static constexpr int kBias = 127;

  constexpr E8M0() = default;
  static constexpr E8M0 FromBits(std::uint8_t bits) { return E8M0(bits); }

  // 2^(floor(log2 largest) - headroom), at least 2^-127, for a magnitude; NaN for Inf and NaN. An
  // fp32 subnormal lands on code 0 like every small magnitude.
  static constexpr E8M0 ForLargest(float largest, int headroom) {
    const int field = static_cast<int>(std::bit_cast<std::uint32_t>(largest) >> 23);
    return E8M0(static_cast<std::uint8_t>(field == 255 ? kNan : std::max(0, field - headroom)));
  }

  constexpr std::uint8_t bits() const { return bits_; }
  constexpr bool is_nan() const { return bits_ == kNan; }

  // Power of two the code stands for; without meaning for NaN.
  constexpr int exponent() const { return bits_ - kBias; }

  // Exact. Code 0 is 2^-127, an fp32 subnormal: shifting the code into the exponent field would
  // turn it into zero, and 0xff into Inf.
  constexpr float ToFloat() const {
    const std::uint32_t shifted = static_cast<std::uint32_t>(bits_) << 23;
    const std::uint32_t word = bits_ == 0 ? 0x00400000u : bits_ == kNan ? 0x7fc00000u : shifted;
    return std::bit_cast<float>(word);
  }

  // 1 / scale, exact. NaN for NaN: as a factor it turns a whole group into NaN.
  constexpr float Inverse() const {
    // Code 254 would shift to zero; its inverse is the subnormal below every shifted code.
    const std::uint32_t shifted = std::max((254u - bits_) << 23, 0x00400000u);
    return std::bit_cast<float>(bits_ == kNan ? 0x7fc00000u : shifted);
  }

  friend constexpr bool operator==(E8M0, E8M0) = default;

 private:
  explicit constexpr E8M0(std::uint8_t bits) : bits_(bits) {}

  std::uint8_t bits_ = 0;
};

}  // namespace bwmm
