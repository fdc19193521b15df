#include "kernels/moe_cte/formats_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bwmm::reference {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

double DecodeFields(unsigned code, int exponent_bits, int mantissa_bits, int bias) {
  const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int fraction = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
  const bool negative = (code >> (exponent_bits + mantissa_bits)) & 1;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                    : std::ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits);
  return negative ? -magnitude : magnitude;
}

namespace {

double DecodeBf16Fields(std::uint16_t word) {
  if ((word & 0x7f80) == 0x7f80)
    return (word & 0x7f) != 0 ? kNan : (word & 0x8000) != 0 ? -kInf : kInf;
  return DecodeFields(word, 8, 7, 127);
}

}  // namespace

double DecodeBf16(std::uint16_t word) {
  static const std::vector<double> kTable = [] {
    std::vector<double> table(65536);
    for (std::size_t code = 0; code < table.size(); ++code)
      table[code] = DecodeBf16Fields(static_cast<std::uint16_t>(code));
    return table;
  }();
  return kTable[word];
}

std::array<double, 256> TableOfE4M3Fn() {
  std::array<double, 256> table;
  for (unsigned code = 0; code < 256; ++code)
    table[code] = (code & 0x7f) == 0x7f ? kNan : DecodeFields(code, 4, 3, 7);
  return table;
}

std::array<double, 256> TableOfE5M2() {
  std::array<double, 256> table;
  for (unsigned code = 0; code < 256; ++code) {
    table[code] = (code & 0x7f) > 0x7c   ? kNan
                  : (code & 0x7f) < 0x7c ? DecodeFields(code, 5, 2, 15)
                  : code == 0x7c         ? kInf
                                         : -kInf;
  }
  return table;
}

std::array<double, 256> TableOfE2M1() {
  std::array<double, 256> table;
  for (unsigned code = 0; code < 256; ++code)
    table[code] = DecodeFields(code & 0xf, 2, 1, 1);
  return table;
}

std::array<double, 256> TableOfE8M0() {
  std::array<double, 256> table;
  for (int code = 0; code < 255; ++code)
    table[code] = std::ldexp(1.0, code - 127);
  table[255] = kNan;
  return table;
}

double RoundTo(double value, int mantissa_bits, int min_exponent) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const int exponent = std::max(std::ilogb(value), min_exponent) - mantissa_bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

namespace {

double OrInf(double rounded) {
  return std::abs(rounded) >= std::ldexp(1.0, 128) ? std::copysign(kInf, rounded) : rounded;
}

}  // namespace

double RoundToFp32(double value) {
  return OrInf(RoundTo(value, 23, -126));
}

double RoundToBf16(double value) {
  return OrInf(RoundTo(value, 7, -126));
}

int ScaleExponent(double amax, bool ocp_rule) {
  if (amax == 0)
    return -127;
  return std::clamp(std::ilogb(amax) - (ocp_rule ? 8 : 7), -127, 127);
}

double HalfStepE4M3Fn(double magnitude, int scale_exponent) {
  constexpr int kMinNormal = -6;
  constexpr int kMantissaBits = 3;
  const int lowest = kMinNormal + scale_exponent;
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), lowest) : lowest;
  return std::ldexp(1.0, exponent - kMantissaBits - 1);
}

void QuantizeGroup(std::span<double, kGroupElements> values, bool ocp_rule) {
  double amax = 0;
  bool finite = true;
  for (const double value : values) {
    finite = finite && std::isfinite(value);
    amax = std::max(amax, std::abs(value));
  }
  if (!finite) {
    std::ranges::fill(values, kNan);
    return;
  }
  const int exponent = ScaleExponent(amax, ocp_rule);
  for (double& value : values) {
    const double code = RoundTo(std::ldexp(value, -exponent), 3, -6);
    value = std::ldexp(std::clamp(code, -448.0, 448.0), exponent);
  }
}

}  // namespace bwmm::reference
