// The activation functions in MPFR, written from their textbook definitions, and the distance of an
// fp32 result from them. 192 bits show on which side of a rounding tie a result lies; the tanh form
// gets more, to outlast the cancellation in 1 + tanh(z) wherever fp32 can see it.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "model/isa/activation.h"

namespace bwmm::test {

class Real {
 public:
  static constexpr int kBits = 192;
  static constexpr int kWideBits = 640;

  explicit Real(int bits = kBits) { mpfr_init2(value_, bits); }
  Real(const char* decimal, int bits) : Real(bits) { mpfr_set_str(value_, decimal, 10, MPFR_RNDN); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }

 private:
  mpfr_t value_;
};

// y = x / (1 + e^(-slope x))
inline void GatedBySigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_srcptr slope) {
  Real gate;
  mpfr_mul(gate, x, slope, MPFR_RNDN);
  mpfr_neg(gate, gate, MPFR_RNDN);
  mpfr_exp(gate, gate, MPFR_RNDN);
  mpfr_add_ui(gate, gate, 1, MPFR_RNDN);
  mpfr_div(y, x, gate, MPFR_RNDN);
}

// y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
inline void GeluByTanh(mpfr_ptr y, mpfr_srcptr x) {
  static const Real kCubic("0.044715", Real::kWideBits);
  Real inner(Real::kWideBits), factor(Real::kWideBits);
  mpfr_pow_ui(inner, x, 3, MPFR_RNDN);
  mpfr_mul(inner, inner, kCubic, MPFR_RNDN);
  mpfr_add(inner, inner, x, MPFR_RNDN);
  mpfr_const_pi(factor, MPFR_RNDN);
  mpfr_ui_div(factor, 2, factor, MPFR_RNDN);
  mpfr_sqrt(factor, factor, MPFR_RNDN);
  mpfr_mul(inner, inner, factor, MPFR_RNDN);
  mpfr_tanh(inner, inner, MPFR_RNDN);
  mpfr_add_ui(inner, inner, 1, MPFR_RNDN);
  mpfr_mul(y, inner, x, MPFR_RNDN);
  mpfr_div_2ui(y, y, 1, MPFR_RNDN);
}

// y = x / 2 erfc(-x / sqrt(2))
inline void GeluByErfc(mpfr_ptr y, mpfr_srcptr x) {
  Real argument;
  mpfr_sqrt_ui(argument, 2, MPFR_RNDN);
  mpfr_div(argument, x, argument, MPFR_RNDN);
  mpfr_neg(argument, argument, MPFR_RNDN);
  mpfr_erfc(argument, argument, MPFR_RNDN);
  mpfr_mul(y, argument, x, MPFR_RNDN);
  mpfr_div_2ui(y, y, 1, MPFR_RNDN);
}

// For finite inputs.
inline void ExactActivation(Activation function, float input, mpfr_ptr y) {
  static const Real kOne("1", Real::kBits);
  static const Real kSwishSlope("1.702", Real::kBits);
  Real x;
  mpfr_set_flt(x, input, MPFR_RNDN);
  switch (function) {
    case Activation::kIdentity:
      mpfr_set(y, x, MPFR_RNDN);
      return;
    case Activation::kSilu:
      return GatedBySigmoid(y, x, kOne);
    case Activation::kSwish:
      return GatedBySigmoid(y, x, kSwishSlope);
    case Activation::kGelu:
      return GeluByErfc(y, x);
    case Activation::kGeluTanh:
      return GeluByTanh(y, x);
    case Activation::kReluSquared:
      mpfr_set_flt(y, input > 0 ? input : 0.0f, MPFR_RNDN);
      mpfr_sqr(y, y, MPFR_RNDN);
      return;
    case Activation::kSigmoid:
      mpfr_neg(y, x, MPFR_RNDN);
      mpfr_exp(y, y, MPFR_RNDN);
      mpfr_add_ui(y, y, 1, MPFR_RNDN);
      mpfr_ui_div(y, 1, y, MPFR_RNDN);
      return;
    case Activation::kExp:
      mpfr_exp(y, x, MPFR_RNDN);
      return;
  }
}

// Distance of `got` from `exact` in ulps of the fp32 binade of `exact` (2^-149 below the normals).
// An overflow must be the overflow of the rounded exact value.
inline double UlpError(float got, mpfr_srcptr exact) {
  const float rounded = mpfr_get_flt(exact, MPFR_RNDN);
  if (std::isinf(rounded) || !std::isfinite(got))
    return got == rounded ? 0.0 : INFINITY;
  if (std::signbit(got) != std::signbit(rounded))
    return INFINITY;
  if (mpfr_zero_p(exact))
    return got == 0.0f ? 0.0 : INFINITY;
  const long ulp = std::max<long>(mpfr_get_exp(exact) - 24, -149);
  Real error;
  mpfr_sub_d(error, exact, got, MPFR_RNDN);
  mpfr_abs(error, error, MPFR_RNDN);
  mpfr_mul_2si(error, error, -ulp, MPFR_RNDN);
  return mpfr_get_d(error, MPFR_RNDU);
}

}  // namespace bwmm::test
