// bf16: the upper half of an fp32 word. | sign | 8-bit exponent, bias 127 | 7-bit mantissa |
#pragma once

#include <bit>
#include <cstdint>

namespace bwmm {

class Bf16 {
 public:
  constexpr Bf16() = default;
  static constexpr Bf16 FromBits(std::uint16_t bits) { return Bf16(bits); }

  // Nearest even; overflow gives Inf, NaN gives 0x7fc0, subnormals are kept.
  static constexpr Bf16 RoundFrom(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    const bool nan = (word & 0x7fffffff) > 0x7f800000;
    return Bf16(static_cast<std::uint16_t>(nan ? 0x7fc0 : rounded));
  }

  constexpr std::uint16_t bits() const { return bits_; }

  // Exact; a NaN keeps its payload, as it does on every path that only moves bits.
  constexpr float ToFloat() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

  friend constexpr bool operator==(Bf16, Bf16) = default;

 private:
  explicit constexpr Bf16(std::uint16_t bits) : bits_(bits) {}

  std::uint16_t bits_ = 0;
};

}  // namespace bwmm
