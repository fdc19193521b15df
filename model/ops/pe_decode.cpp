#include "model/ops/pe_decode.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "model/support/check.h"

namespace bwmm::ops {
namespace {

struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_inf;  // IEEE-like; otherwise only the all-ones code is special, if `has_nan`
  bool has_nan;
};

constexpr Layout kFp16Layout = {5, 10, 15, true, true};
constexpr Layout kE4M3FnLayout = {4, 3, 7, false, true};
constexpr Layout kE4M3Layout = {4, 3, 7, true, true};
constexpr Layout kE5M2Layout = {5, 2, 15, true, true};
constexpr Layout kE2M1Layout = {2, 1, 1, false, false};

float DecodeAs(const Layout& layout, std::uint32_t raw) {
  const int sign_bit = layout.exponent_bits + layout.mantissa_bits;
  const std::uint32_t mantissa = raw & ((1U << layout.mantissa_bits) - 1);
  const std::uint32_t top = (1U << layout.exponent_bits) - 1;
  const std::uint32_t field = (raw >> layout.mantissa_bits) & top;
  const float sign = ((raw >> sign_bit) & 1) != 0 ? -1.0F : 1.0F;
  if (field == top && layout.has_inf)
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  if (field == top && layout.has_nan && mantissa == (1U << layout.mantissa_bits) - 1)
    return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t hidden = field == 0 ? 0 : 1U << layout.mantissa_bits;
  const int exponent = static_cast<int>(field == 0 ? 1 : field) - layout.bias;
  return sign * std::ldexp(static_cast<float>(mantissa | hidden), exponent - layout.mantissa_bits);
}

template <int kCodes>
std::array<float, kCodes> TableOf(const Layout& layout) {
  std::array<float, kCodes> table;
  for (std::uint32_t code = 0; code < kCodes; ++code)
    table[code] = DecodeAs(layout, code);
  return table;
}

// The value of every code of an element type other than bf16.
std::span<const float> ValuesOf(DType type) {
  static const auto e4m3fn = TableOf<256>(kE4M3FnLayout);
  static const auto e4m3 = TableOf<256>(kE4M3Layout);
  static const auto e5m2 = TableOf<256>(kE5M2Layout);
  static const auto e2m1 = TableOf<16>(kE2M1Layout);
  static const auto fp16 = TableOf<65536>(kFp16Layout);
  switch (type) {
    case DType::kFp16:
      return fp16;
    case DType::kFp8E4M3Fn:
    case DType::kFp8E4M3FnX4:
      return e4m3fn;
    case DType::kFp8E4M3:
      return e4m3;
    case DType::kFp8E5M2:
    case DType::kFp8E5M2X4:
      return e5m2;
    case DType::kFp4E2M1FnX4:
      return e2m1;
    default:
      Check(false, "a PE operand is bf16, fp16, fp8 or an x4 type");
      return {};
  }
}

}  // namespace

ElementDecoder::ElementDecoder(PeFormat format) : part_(format.part) {
  const DType type = format.dtype;
  Check(part_.has_value() == (type == DType::kFp32), "the PE array takes fp32 in parts");
  if (part_ || type == DType::kBf16)
    return;
  const std::span<const float> values = ValuesOf(type);
  values_ = values.data();
  mask_ = static_cast<std::uint32_t>(values.size() - 1);
  bits_ = std::bit_width(mask_);
}

float ElementDecoder::PartOf(std::uint32_t raw, PePart part) {
  const auto value = std::bit_cast<float>(raw);
  const auto high = std::bit_cast<float>(raw & 0xfffff000U);
  if (part == PePart::kHigh)
    return std::isnan(value) ? value : high;  // the bits that make it NaN may be low ones
  return std::copysign(value - high, value);  // exact; NaN of Inf
}

double DecodeScale(std::uint8_t code) {
  static const auto table = [] {
    std::array<double, 256> scales;
    for (int i = 0; i < 255; ++i)
      scales[i] = std::ldexp(1.0, i - 127);
    scales[255] = std::numeric_limits<double>::quiet_NaN();
    return scales;
  }();
  return table[code];
}

void ElementSpan::Add(float element) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(element) & 0x7fffffff;
  if (bits == 0 || bits >= 0x7f800000)
    return;
  // Every lane is a normal float with at most 3 mantissa bits.
  const int exponent = static_cast<int>(bits >> 23);
  const int last_place = exponent - 23 + std::countr_zero((bits & 0x7fffff) | 0x800000);
  high_ = std::max(high_, exponent);
  low_ = std::min(low_, last_place);
}

}  // namespace bwmm::ops
