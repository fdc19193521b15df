// Words of the x4 types: four lanes of one contraction group, lane 0 in the low bits.
//
//   fp8 x4:  31 [ lane 3 | lane 2 | lane 1 | lane 0 ] 0     8 bits each
//   fp4 x4:  15 [ lane 3 | lane 2 | lane 1 | lane 0 ] 0     4 bits each
#pragma once

#include <array>
#include <cstdint>

namespace bwmm {

constexpr std::uint32_t PackFp8X4(const std::array<std::uint8_t, 4>& lanes) {
  return lanes[0] | static_cast<std::uint32_t>(lanes[1]) << 8 |
         static_cast<std::uint32_t>(lanes[2]) << 16 | static_cast<std::uint32_t>(lanes[3]) << 24;
}

constexpr std::array<std::uint8_t, 4> UnpackFp8X4(std::uint32_t word) {
  return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
          static_cast<std::uint8_t>(word >> 16), static_cast<std::uint8_t>(word >> 24)};
}

// Only the low four bits of each lane count.
constexpr std::uint16_t PackFp4X4(const std::array<std::uint8_t, 4>& lanes) {
  return static_cast<std::uint16_t>((lanes[0] & 0xf) | (lanes[1] & 0xf) << 4 |
                                    (lanes[2] & 0xf) << 8 | (lanes[3] & 0xf) << 12);
}

constexpr std::array<std::uint8_t, 4> UnpackFp4X4(std::uint16_t word) {
  return {static_cast<std::uint8_t>(word & 0xf), static_cast<std::uint8_t>(word >> 4 & 0xf),
          static_cast<std::uint8_t>(word >> 8 & 0xf), static_cast<std::uint8_t>(word >> 12)};
}

// The e4m3fn code of the same value: every e2m1 value is one.
constexpr std::uint8_t WidenFp4(std::uint8_t code) {
  const int magnitude = code & 7;
  // Rebias the exponent; 0.5 is subnormal in e2m1 and normal in e4m3fn.
  const int widened = magnitude == 0 ? 0 : magnitude == 1 ? 0x30 : 0x30 + 4 * magnitude;
  return static_cast<std::uint8_t>((code & 8) << 4 | widened);
}

constexpr std::uint32_t WidenFp4X4(std::uint16_t word) {
  const std::array<std::uint8_t, 4> lanes = UnpackFp4X4(word);
  return PackFp8X4(
      {WidenFp4(lanes[0]), WidenFp4(lanes[1]), WidenFp4(lanes[2]), WidenFp4(lanes[3])});
}

}  // namespace bwmm
