#include "kernels/moe_cte/activation_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bwmm::reference {
namespace {

constexpr double kSwish = 1.702;
constexpr double kSqrt2OverPi = 0.7978845608028654;
constexpr double kCubic = 0.044715;  // of the tanh approximation of GELU

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// d/dx of x * sigmoid(a x).
double GatedSlope(double x, double a) {
  const double s = Sigmoid(a * x);
  return s + a * x * s * (1 - s);
}

double Slope(Function function, double x) {
  switch (function) {
    case Function::kIdentity:
      return 1;
    case Function::kSilu:
      return GatedSlope(x, 1);
    case Function::kSwish:
      return GatedSlope(x, kSwish);
    case Function::kGelu:
      return 0.5 * std::erfc(-x / std::sqrt(2.0)) +
             x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
    case Function::kGeluTanh: {
      const double t = std::tanh(kSqrt2OverPi * (x + kCubic * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSqrt2OverPi * (1 + 3 * kCubic * x * x);
    }
    case Function::kReluSquared:
      return 2 * std::max(x, 0.0);
    case Function::kSigmoid:
      return Sigmoid(x) * (1 - Sigmoid(x));
    case Function::kExp:
      return std::exp(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Largest |f'| and |f''| anywhere, rounded up; infinite where there is none.
struct Limits {
  double slope;
  double curvature;
};

Limits LimitsOf(Function function) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  switch (function) {
    case Function::kIdentity:
      return {1, 0};
    case Function::kSilu:
      return {1.1, 0.5};
    case Function::kSwish:
      return {1.1, 0.5 * kSwish};
    case Function::kGelu:
    case Function::kGeluTanh:
      return {1.13, 0.8};
    case Function::kReluSquared:
      return {kNone, 2};
    case Function::kSigmoid:
      return {0.25, 0.0963};
    case Function::kExp:
      return {kNone, kNone};
  }
  return {kNone, kNone};
}

}  // namespace

double Evaluate(Function function, double x) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool gated = function == Function::kSilu || function == Function::kSwish ||
                     function == Function::kGelu || function == Function::kGeluTanh;
  if (gated && x == -kInf)
    return -0.0;  // the limit; the formula would say -Inf * 0
  switch (function) {
    case Function::kIdentity:
      return x;
    case Function::kSilu:
      return x * Sigmoid(x);
    case Function::kSwish:
      return x * Sigmoid(kSwish * x);
    case Function::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Function::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kSqrt2OverPi * (x + kCubic * x * x * x)));
    case Function::kReluSquared:
      return std::isnan(x) ? x : std::max(x, 0.0) * std::max(x, 0.0);
    case Function::kSigmoid:
      return Sigmoid(x);
    case Function::kExp:
      return std::exp(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double SpreadBound(Function function, double x, double delta) {
  if (delta == 0)
    return 0;
  if (function == Function::kExp)
    return delta < 1 ? std::exp(x) * std::expm1(delta) : std::exp(x + delta);  // never 0 * Inf
  const Limits limits = LimitsOf(function);
  const double local = std::abs(Slope(function, x)) + limits.curvature * delta;
  return std::min(local, limits.slope) * delta;
}

}  // namespace bwmm::reference
