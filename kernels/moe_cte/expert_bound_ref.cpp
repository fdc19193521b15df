#include "kernels/moe_cte/expert_bound_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/moe_cte/activation_ref.h"
#include "kernels/moe_cte/formats_ref.h"

namespace bwmm::reference {
namespace {

// fp32 roundings of one MX pass, relative to the sum of magnitudes: each of the 16 groups is
// rounded once and added once.
constexpr double kPassError = 2 * 16 * kUnitFp32;

double Square(double x) {
  return x * x;
}

double ClampSpread(double x, double delta, double lower, double upper) {
  const double at = Clamp(x, lower, upper);
  return std::max(Clamp(x + delta, lower, upper) - at, at - Clamp(x - delta, lower, upper));
}

// Euclidean norm of `count` elements `stride` apart.
double Norm(const double* x, int count, int stride = 1) {
  double sum = 0;
  for (int k = 0; k < count; ++k)
    sum += Square(x[static_cast<std::ptrdiff_t>(k) * stride]);
  return std::sqrt(sum);
}

// Of the columns of a pass's weights, whose squares are added to `squared`.
std::array<double, kColumns> ColumnNorms(const PanelPass& pass,
                                         std::array<double, kColumns>& squared) {
  std::array<double, kColumns> norms;
  for (int c = 0; c < kColumns; ++c) {
    norms[c] = Norm(&pass.weights.weight[0][c], pass.depth, kColumns);
    squared[c] += Square(norms[c]);
  }
  return norms;
}

// Worst case, or kLambda standard deviations, of the fp32 roundings of a running sum of `terms`
// that never exceeds `magnitude`.
double RunningSumError(double magnitude, int terms, bool worst_case) {
  const int steps = terms + terms / 128 + 2;
  const double count = worst_case ? steps : kLambda * std::sqrt(steps / 3.0);
  return count * kUnitFp32 * magnitude;
}

// The largest magnitude of a sum before a scale per channel multiplies it.
double UnscaledReach(const MoeCteProblem& problem, double norms, double x_norm, int depth) {
  constexpr double kLargestE4M3Fn = 448;
  return problem.weights == Weights::kFp8E4M3Fn ? norms + x_norm * kLargestE4M3Fn * std::sqrt(depth)
                                                : norms;
}

}  // namespace

ProjectionBound::ProjectionBound(const MoeCteProblem& problem, const Matrix& x)
    : error(x.rows(), kColumns),
      reach(x.rows(), kColumns),
      problem_(problem),
      x_(x),
      mx_(IsMx(problem.weights)),
      x_squared_(x.rows()) {}

void ProjectionBound::AddPass(const PanelPass& pass) {
  const auto norms = ColumnNorms(pass, norm_squared_);
  for (int r = 0; r < x_.rows(); ++r) {
    const double x_norm = Norm(x_[r] + pass.first, pass.depth);
    x_squared_[r] += Square(x_norm);
    for (int c = 0; mx_ && c < kColumns; ++c) {  // the bf16 accumulator rounds after every pass
      error[r][c] += kPassError * x_norm * norms[c];
      error[r][c] += kUnitBf16 * (std::abs(pass.sum[r][c]) + error[r][c]);
    }
  }
}

void ProjectionBound::Finish() {
  for (int r = 0; r < x_.rows(); ++r) {
    const double x_norm = std::sqrt(x_squared_[r]);
    for (int c = 0; c < kColumns; ++c) {
      const double norms = x_norm * std::sqrt(norm_squared_[c]);
      if (!mx_)
        error[r][c] = RunningSumError(norms, problem_.hidden, problem_.worst_case);
      reach[r][c] = UnscaledReach(problem_, norms, x_norm, problem_.hidden) + error[r][c];
    }
  }
}

GatedBound BoundOf(const MoeCteProblem& problem, const Gated& value, double gate_error,
                   double up_error) {
  const double unit = IsMx(problem.weights) ? kUnitBf16 : kUnitFp32;  // of the sum with the bias
  const double g = gate_error + unit * (std::abs(value.gate) + gate_error);
  const double u = up_error + unit * (std::abs(value.up) + up_error);
  const double clamped = ClampSpread(value.gate, g, problem.gate_lower, problem.gate_upper);
  const double b = ClampSpread(value.up, u, problem.up_lower, problem.up_upper);
  double a = SpreadBound(problem.activation, value.clamped_gate, clamped);
  a += (kUnitBf16 + 8 * kUnitFp32) * (std::abs(value.activated) + a);
  double y = std::abs(value.activated) * b + std::abs(value.clamped_up) * a + a * b;
  y += kUnitBf16 * (std::abs(value.y) + y) + kTiny;
  return {.activated = a, .y = y};
}

void AddQuantisation(const MoeCteProblem& problem, std::span<const double> value,
                     std::span<double> error, std::span<double> variance) {
  for (std::size_t first = 0; first < value.size(); first += kGroupElements) {
    const std::size_t end = first + kGroupElements;
    double amax = 0;
    for (std::size_t j = first; j < end; ++j)
      amax = std::max(amax, std::abs(value[j]) + error[j]);
    if (!std::isfinite(amax))
      continue;
    const int exponent = ScaleExponent(amax, problem.ocp_rule);
    const double saturation = std::ldexp(448.0, exponent);
    for (std::size_t j = first; j < end; ++j) {
      const double magnitude = std::abs(value[j]) + error[j];
      const double step = std::max(HalfStepE4M3Fn(std::min(magnitude, saturation), exponent),
                                   magnitude - saturation);
      error[j] += step;
      variance[j] += VarianceOf(step);
    }
  }
}

DownBound::DownBound(const MoeCteProblem& problem, const Matrix& y, const Matrix& error,
                     const Matrix& variance)
    : problem_(problem),
      y_(y),
      y_error_(error),
      y_variance_(variance),
      mx_(IsMx(problem.weights)),
      passes_(static_cast<double>(DownPasses(problem).size())),
      spread_variance_(y.rows(), kColumns),
      spread_worst_(y.rows(), kColumns),
      rounding_(y.rows(), kColumns),
      rounding_variance_(y.rows(), kColumns) {
  for (int r = 0; r < y.rows(); ++r) {
    y_norms_.push_back(Norm(y[r], y.columns));
    error_norms_.push_back(Norm(error[r], y.columns));
  }
}

void DownBound::AddPass(const PanelPass& pass) {
  const auto norms = ColumnNorms(pass, norm_squared_);
  std::vector<PanelSums> sums(y_.rows());
  const auto add_products = [&](const Matrix& of_y, Matrix& to) {
    Multiply(pass.weights, pass.depth, of_y[0] + pass.first, of_y.columns, of_y.rows(),
             sums.data());
    AddTo(to, sums);
  };
  pass.weights.Map([](double w) { return std::abs(w); });
  add_products(y_error_, spread_worst_);
  pass.weights.Map(Square);
  add_products(y_variance_, spread_variance_);
  for (int r = 0; mx_ && r < y_.rows(); ++r) {
    const double y_norm = Norm(y_[r] + pass.first, pass.depth);
    for (int c = 0; c < kColumns; ++c) {  // the bf16 accumulator rounds after every pass
      const double error =
          kUnitBf16 * (std::abs(pass.sum[r][c]) + rounding_[r][c]) + kPassError * y_norm * norms[c];
      rounding_[r][c] += error;
      rounding_variance_[r][c] += VarianceOf(error);
    }
  }
}

DownBound::Element DownBound::Of(int r, int c, std::span<const Matrix> parts, double bias) const {
  const bool split = problem_.split_intermediate;
  const double likely = kLambda * std::sqrt(spread_variance_[r][c]);
  const double worst = spread_worst_[r][c];
  const double spread = problem_.worst_case ? worst : std::min(worst, likely);
  double rounding = rounding_[r][c];
  double variance = spread_variance_[r][c] + rounding_variance_[r][c];
  const auto round = [&](double unit, double magnitude) {
    rounding += unit * (std::abs(magnitude) + spread + rounding);
    variance += VarianceOf(unit * magnitude);
  };
  const double norms = y_norms_[r] * std::sqrt(norm_squared_[c]);
  if (mx_) {  // the accumulator held the spread as well
    rounding += passes_ * kUnitBf16 * spread;
  } else {
    rounding += RunningSumError(norms, problem_.intermediate, problem_.worst_case);
  }
  double sum = 0;
  for (const Matrix& part : parts) {
    if (split && !mx_)  // the fp32 sums leave PSUM as bf16
      round(kUnitBf16, part[r][c]);
    sum += part[r][c];
  }
  // As often as two are added; no sum on the way is larger than all magnitudes together.
  double magnitude = 0;
  for (std::size_t core = 0; core + 1 < parts.size() && split; ++core) {
    magnitude += std::abs(parts[core][r][c]);
    if (core > 0)
      round(kUnitBf16, magnitude);
  }
  if (parts.size() > 1)
    round(kUnitBf16, sum);
  round(mx_ || split ? kUnitBf16 : kUnitFp32, sum + bias);
  double reach =
      UnscaledReach(problem_, norms, y_norms_[r] + error_norms_[r], problem_.intermediate);
  reach += worst + std::abs(bias) + spread + rounding;
  return {.bound = spread + rounding, .variance = variance, .reach = reach};
}

}  // namespace bwmm::reference
