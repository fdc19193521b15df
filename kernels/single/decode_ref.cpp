#include "kernels/single/decode_ref.h"

#include <cmath>
#include <limits>

namespace bwmm::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// | sign | exponent | mantissa | with subnormals, no code kept for Inf or NaN.
double Fields(std::uint32_t code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double fraction = code & ((1u << mantissa_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                    : std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

// The same with the largest exponent kept for Inf and NaN.
double Ieee(std::uint32_t code, int exponent_bits, int mantissa_bits) {
  const std::uint32_t all = (1u << exponent_bits) - 1;
  if ((code >> mantissa_bits & all) != all)
    return Fields(code, exponent_bits, mantissa_bits);
  if ((code & ((1u << mantissa_bits) - 1)) != 0)
    return kNan;
  return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -kInf : kInf;
}

double Scale(std::uint8_t code) {
  return code == 0xff ? kNan : std::ldexp(1.0, code - 127);
}

}  // namespace

int BitsOf(Element element) {
  switch (element) {
    case Element::kBf16:
    case Element::kFp16:
      return 16;
    case Element::kE2M1:
      return 4;
    default:
      return 8;
  }
}

double DecodeOne(Element element, std::uint32_t code) {
  switch (element) {
    case Element::kBf16:
      return Ieee(code, 8, 7);
    case Element::kFp16:
      return Ieee(code, 5, 10);
    case Element::kE4M3Fn:
      return (code & 0x7f) == 0x7f ? kNan : Fields(code, 4, 3);
    case Element::kE4M3:
      return Ieee(code, 4, 3);
    case Element::kE5M2:
      return Ieee(code, 5, 2);
    case Element::kE2M1:
      return Fields(code, 2, 1);
  }
  return kNan;
}

std::vector<double> Decode(Element element, const std::vector<std::uint32_t>& codes) {
  std::vector<double> values(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    values[i] = DecodeOne(element, codes[i]);
  return values;
}

std::uint32_t LaneOf(Element element, std::uint32_t word, int lane) {
  const int bits = BitsOf(element);
  return word >> (bits * lane) & ((1u << bits) - 1);
}

std::vector<double> DecodeMx(Element element, const std::vector<std::uint32_t>& words,
                             const std::vector<std::uint8_t>& scales, int partitions, int columns) {
  std::vector<double> values(std::size_t{4} * partitions * columns);
  for (int p = 0; p < partitions; ++p) {
    for (int c = 0; c < columns; ++c) {
      const double scale = Scale(scales[std::size_t{1} * (p / 8) * columns + c]);
      for (int lane = 0; lane < 4; ++lane) {
        values[(std::size_t{4} * p + lane) * columns + c] =
            DecodeOne(element, LaneOf(element, words[std::size_t{1} * p * columns + c], lane)) *
            scale;
      }
    }
  }
  return values;
}

}  // namespace bwmm::reference
