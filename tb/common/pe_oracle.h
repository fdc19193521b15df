// A second, slow PE column: element values from their fields by ldexp, sums in MPFR, the fused
// multiply-add of the host. Shares no code with model/ops or rtl.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "model/isa/pe_mode.h"
#include "model/numerics/dtype.h"

namespace bwmm::tb {

// The value of an element, or of lane `lane` of an x4 word.
inline double ValueOf(DType dtype, std::uint32_t raw, int lane = 0) {
  struct Fields {
    int exponent, mantissa, bias;
  };
  Fields fields{4, 3, 7};
  if (dtype == DType::kBf16)
    fields = {8, 7, 127};
  if (dtype == DType::kFp16)
    fields = {5, 10, 15};
  if (dtype == DType::kFp8E5M2 || dtype == DType::kFp8E5M2X4)
    fields = {5, 2, 15};
  if (dtype == DType::kFp4E2M1FnX4)
    fields = {2, 1, 1};
  if (dtype == DType::kFp32)
    fields = {8, 23, 127};
  const int width = 1 + fields.exponent + fields.mantissa;
  const auto code = static_cast<int>((raw >> (lane * width)) & ((1ULL << width) - 1));
  const int magnitude = code & static_cast<int>((1U << (width - 1)) - 1);
  const int mantissa = magnitude & ((1 << fields.mantissa) - 1);
  const int field = magnitude >> fields.mantissa;
  const double sign = magnitude == code ? 1 : -1;
  const bool finite_only = dtype == DType::kFp4E2M1FnX4;
  const bool one_nan = dtype == DType::kFp8E4M3Fn || dtype == DType::kFp8E4M3FnX4;
  if (one_nan && magnitude == 0x7f)
    return std::numeric_limits<double>::quiet_NaN();
  if (!finite_only && !one_nan && field == (1 << fields.exponent) - 1)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (field == 0)
    return sign * std::ldexp(mantissa, 1 - fields.bias - fields.mantissa);
  return sign *
         std::ldexp(mantissa + (1 << fields.mantissa), field - fields.bias - fields.mantissa);
}

inline std::uint32_t CanonicalBits(float value) {
  return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value);
}

// What a pass multiplies of an fp32 value: its upper 12 of 24 places, or the rest with its sign.
inline double PartOf(double value, PePart part) {
  if (!std::isfinite(value))
    return part == PePart::kHigh ? value : std::numeric_limits<double>::quiet_NaN();
  const double place = std::ldexp(1.0, value == 0 ? 0 : std::max(std::ilogb(value), -126) - 11);
  const double high = std::trunc(value / place) * place;
  return part == PePart::kHigh ? high : std::copysign(value - high, value);
}

using MaybePart = std::optional<PePart>;

inline float OperandOf(DType type, std::uint32_t raw, MaybePart part) {
  const double value = ValueOf(type, raw);
  return static_cast<float>(part ? PartOf(value, *part) : value);
}

// One column in ordinary mode: w[k], x[k] raw.
inline std::uint32_t OrdinaryColumn(DType w_type, const std::vector<std::uint32_t>& w, DType x_type,
                                    const std::vector<std::uint32_t>& x,
                                    MaybePart w_part = std::nullopt,
                                    MaybePart x_part = std::nullopt) {
  float p = 0;
  for (std::size_t k = 0; k < w.size(); ++k)
    p = std::fma(OperandOf(w_type, w[k], w_part), OperandOf(x_type, x[k], x_part), p);
  return CanonicalBits(p);
}

// The exact sum of the products of 8 rows x 4 lanes from row `first`, scaled, rounded once.
inline float GroupTerm(DType w_type, const std::vector<std::uint32_t>& w, std::uint8_t w_scale,
                       DType x_type, const std::vector<std::uint32_t>& x, std::uint8_t x_scale,
                       std::size_t first) {
  if (w_scale == 0xff || x_scale == 0xff)
    return std::numeric_limits<float>::quiet_NaN();
  mpfr_t sum, product;
  mpfr_init2(sum, 600);
  mpfr_init2(product, 600);
  mpfr_set_zero(sum, 1);
  for (std::size_t k = first; k < first + 8; ++k) {
    for (int lane = 0; lane < 4; ++lane) {
      mpfr_set_d(product, ValueOf(w_type, w[k], lane), MPFR_RNDN);
      mpfr_mul_d(product, product, ValueOf(x_type, x[k], lane), MPFR_RNDN);
      mpfr_add(sum, sum, product, MPFR_RNDN);
    }
  }
  mpfr_mul_2si(sum, sum, w_scale + x_scale - 254, MPFR_RNDN);
  const float term = mpfr_zero_p(sum) ? 0.0F : mpfr_get_flt(sum, MPFR_RNDN);
  mpfr_clears(sum, product, static_cast<mpfr_ptr>(nullptr));
  return term;
}

// One column in MX mode; scales are [k / 8].
inline std::uint32_t MxColumn(DType w_type, const std::vector<std::uint32_t>& w,
                              const std::vector<std::uint8_t>& w_scale, DType x_type,
                              const std::vector<std::uint32_t>& x,
                              const std::vector<std::uint8_t>& x_scale) {
  float p = 0;
  for (std::size_t g = 0; g < w.size() / 8; ++g)
    p += GroupTerm(w_type, w, w_scale[g], x_type, x, x_scale[g], 8 * g);
  return CanonicalBits(p);
}

}  // namespace bwmm::tb
