#include "model/ops/activation.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "model/support/check.h"

namespace bwmm::ops {
namespace {

// Everything here is branch-free, so that the loop at the end vectorizes; each operation is a
// single IEEE one, so that the vector width does not show in the bits.

constexpr double Min(double a, double b) {
  return a < b ? a : b;
}
constexpr double Max(double a, double b) {
  return a > b ? a : b;
}

// c[0] + c[1] x + ..., by Horner's rule with one fma per step, from the last coefficient down.
template <std::size_t kCount, std::size_t kFirst = 0>
inline double Polynomial(const double (&c)[kCount], double x) {
  if constexpr (kFirst + 1 == kCount)
    return c[kFirst];
  else
    return std::fma(Polynomial<kCount, kFirst + 1>(c, x), x, c[kFirst]);
}

// e^x for |x| <= 708, within 2^-46: x = n ln 2 + r, e^r as its Taylor sum to r^11 / 11!.
inline double Exp(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa39efp-1;
  constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
  constexpr double kRounder = 0x1.8p52;  // its ulp is 1: adding it rounds to an integer
  constexpr double kInverseFactorials[12] = {
      1.0,       1.0,        1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,
      1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
  const double shifted = std::fma(x, kLog2E, kRounder);
  const double n = shifted - kRounder;
  const double r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  const double sum = Polynomial(kInverseFactorials, r);
  // The low bits of `shifted` hold n; they move into the exponent field of the sum.
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent);
}

// 1 / (1 + e^-z). Beyond +-700 no fp32 result changes any more.
inline double Sigmoid(double z) {
  return 1.0 / (1.0 + Exp(Max(Min(-z, 700.0), -700.0)));
}

// Phi(-t) e^(t^2 / 2) for 0 <= t <= 16, within 2^-46: the degree-18 Chebyshev interpolant in
// u = (t - 4) / (t + 4).
inline double ScaledTail(double t) {
  constexpr double kCoefficients[19] = {
      0x1.82b4bb8c94dc7p-4,   -0x1.5cf97b0ae8829p-3,  0x1.fd751a1fbac40p-4,  -0x1.25b6aa9657b80p-4,
      0x1.f9b05f0e93a42p-6,   -0x1.1644dc30986bbp-7,  0x1.0a1bd50a737d3p-11, 0x1.4eec26ae35da2p-11,
      -0x1.888dea167e063p-13, -0x1.7e25b3eba6acfp-15, 0x1.e0a7858cb7f69p-16, 0x1.370e864589007p-18,
      -0x1.20d6d72a55c00p-18, -0x1.c30ca57e1d3cbp-21, 0x1.5f56d1ac99640p-21, 0x1.d96b748bf8ec1p-23,
      -0x1.3a3a1373b3a86p-24, -0x1.ce04de861e986p-25, -0x1.3a0868f4cfef5p-27};
  return Polynomial(kCoefficients, (t - 4.0) / (t + 4.0));
}

// The normal distribution function. The tail keeps its relative accuracy down to Phi(-16) = 6e-58.
inline double Phi(double x) {
  const double t = Min(std::fabs(x), 16.0);
  const double tail = Exp(-0.5 * (t * t)) * ScaledTail(t);
  return x < 0.0 ? tail : 1.0 - tail;
}

// Below -1000 every gated function is -0; the bound keeps -Inf * 0 from becoming NaN.
inline double Floor(double x) {
  return Max(x, -1000.0);
}

template <Activation kFunction>
inline float Evaluate(float input) {
  const double x = input;
  double y = x;
  if constexpr (kFunction == Activation::kSilu)
    y = Floor(x) * Sigmoid(x);
  if constexpr (kFunction == Activation::kSwish)
    y = Floor(x) * Sigmoid(1.702 * x);
  if constexpr (kFunction == Activation::kGelu)
    y = Max(x, -16.0) * Phi(x);
  if constexpr (kFunction == Activation::kGeluTanh) {
    // 0.5 (1 + tanh z) is sigmoid(2 z), without the cancellation.
    constexpr double kTwiceRootTwoOverPi = 0x1.9884533d43651p+0;
    y = Floor(x) * Sigmoid(kTwiceRootTwoOverPi * x * std::fma(0.044715 * x, x, 1.0));
  }
  if constexpr (kFunction == Activation::kReluSquared)
    y = Max(x, 0.0) * Max(x, 0.0);
  if constexpr (kFunction == Activation::kSigmoid)
    y = Sigmoid(x);
  if constexpr (kFunction == Activation::kExp)
    y = Exp(Max(Min(x, 700.0), -700.0));
  const float rounded = static_cast<float>(y);
  const std::uint32_t word = std::bit_cast<std::uint32_t>(input);
  const bool nan = (word & 0x7fffffff) > 0x7f800000;
  return std::bit_cast<float>(nan ? 0x7fc00000u : std::bit_cast<std::uint32_t>(rounded));
}

// Calls `use.operator()<function>()` with the run-time value as a template argument.
template <typename Use>
auto Dispatch(Activation function, Use use) {
  switch (function) {
    case Activation::kIdentity:
      break;
    case Activation::kSilu:
      return use.template operator()<Activation::kSilu>();
    case Activation::kSwish:
      return use.template operator()<Activation::kSwish>();
    case Activation::kGelu:
      return use.template operator()<Activation::kGelu>();
    case Activation::kGeluTanh:
      return use.template operator()<Activation::kGeluTanh>();
    case Activation::kReluSquared:
      return use.template operator()<Activation::kReluSquared>();
    case Activation::kSigmoid:
      return use.template operator()<Activation::kSigmoid>();
    case Activation::kExp:
      return use.template operator()<Activation::kExp>();
  }
  Check(function == Activation::kIdentity, "Activate: a known function");
  return use.template operator()<Activation::kIdentity>();
}

}  // namespace

float Activate(Activation function, float x) {
  return Dispatch(function, [x]<Activation kFunction>() { return Evaluate<kFunction>(x); });
}

void Activate(Activation function, const float* in, int count, float* out) {
  Dispatch(function, [=]<Activation kFunction>() {
    for (int i = 0; i < count; ++i)
      out[i] = Evaluate<kFunction>(in[i]);
  });
}

}  // namespace bwmm::ops
