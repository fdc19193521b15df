#include "kernels/moe_cte/expert_ref.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "kernels/moe_cte/activation_ref.h"
#include "kernels/moe_cte/formats_ref.h"
#include "kernels/moe_cte/threads_ref.h"

namespace bwmm::reference {
namespace {

constexpr int kBlock = 32;
// fp32 roundings of one MX pass, relative to the sum of magnitudes: each of the 16 groups is
// rounded once and added once.
constexpr double kPassError = 2 * 16 * kUnitFp32;

double Square(double x) {
  return x * x;
}

// The variance of one rounding with this bound, were its error uniform.
double VarianceOf(double bound) {
  return Square(bound) / 3;
}

double Clamp(double x, double lower, double upper) {
  const double low = x > upper ? upper : x;  // a NaN stays
  return low < lower ? lower : low;
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

// Worst case, or kLambda standard deviations, of `steps` fp32 roundings of a running sum that never
// exceeds `magnitude`.
double RunningSumError(double magnitude, int steps, bool worst_case) {
  const double count = worst_case ? steps : kLambda * std::sqrt(steps / 3.0);
  return count * kUnitFp32 * magnitude;
}

}  // namespace

std::vector<DownPass> DownPasses(const MoeCteProblem& problem) {
  const bool mx = problem.weights != Weights::kBf16 && problem.weights != Weights::kFp8E4M3Fn;
  const int all = problem.intermediate;
  const int parts = PartsOf(problem);
  const auto end_of = [&](int core) {
    // MX: whole passes, core 0 has the odd one.
    return mx ? (all / kPassRows * (core + 1) + parts - 1) / parts * kPassRows
              : all * (core + 1) / parts;
  };
  std::vector<DownPass> passes;
  for (int core = 0, at = 0; core < parts; ++core) {
    for (; at < end_of(core); at += passes.back().depth)
      passes.push_back({at, std::min(kPassRows, end_of(core) - at), core});
  }
  return passes;
}

// One of gate and up for all rows and one panel of columns: value and bound before the bias.
struct ExpertEvaluator::Projection {
  Projection(int rows) : value(rows, kColumns), error(rows, kColumns), reach(rows, kColumns) {}
  Matrix value;
  Matrix error;
  Matrix reach;  // no step on the way is larger
};

Matrix ExpertEvaluator::GatherHidden(int expert, std::span<const std::int32_t> tokens) const {
  const int hidden = problem_.hidden;
  Matrix x(static_cast<int>(tokens.size()), hidden);
  for (std::size_t r = 0; r < tokens.size(); ++r) {
    double* row = x[static_cast<int>(r)];
    const std::size_t t = tokens[r];
    const double affinity = problem_.scaling == Scaling::kPre ? AffinityOf(problem_, t, expert) : 1;
    for (int h = 0; h < hidden; ++h) {
      const double value = DecodeBf16(problem_.hidden_rows[t * hidden + h]);
      row[weights_.OrderOfHidden(h)] =
          problem_.scaling == Scaling::kPre ? RoundToBf16(RoundToFp32(value * affinity)) : value;
    }
    if (!weights_.mx())
      continue;
    for (int k = 0; k < hidden; k += kBlock) {
      std::array<double, kBlock> block;
      std::copy_n(row + k, kBlock, block.begin());
      QuantizeBlock(block, problem_.ocp_rule);
      std::ranges::copy(block, row + k);
    }
  }
  return x;
}

void ExpertEvaluator::Project(int expert, int half, int column, const Matrix& x,
                              Projection& out) const {
  const int rows = static_cast<int>(x.data.size()) / x.columns;
  const auto panel = std::make_unique<Panel>();
  std::vector<PanelSums> sums(rows);
  std::array<double, kColumns> norm_squared{};
  std::vector<double> x_squared(rows);
  const int passes = (problem_.hidden + kPassRows - 1) / kPassRows;
  for (int pass = 0; pass < passes; ++pass) {
    const int depth = weights_.ReadGateUp(expert, half, pass, column, *panel);
    const double* first = x[0] + pass * kPassRows;
    Multiply(*panel, depth, first, x.columns, rows, sums.data());
    std::array<double, kColumns> norm;
    for (int c = 0; c < kColumns; ++c) {
      norm[c] = Norm(&panel->weight[0][c], depth, kColumns);
      norm_squared[c] += Square(norm[c]);
    }
    for (int r = 0; r < rows; ++r) {
      const double x_norm = Norm(x[r] + pass * kPassRows, depth);
      x_squared[r] += Square(x_norm);
      for (int c = 0; c < kColumns; ++c) {
        out.value[r][c] += sums[r].value[c];
        if (weights_.mx()) {  // the bf16 accumulator rounds after every pass
          double& error = out.error[r][c];
          error += kPassError * x_norm * norm[c];
          error += kUnitBf16 * (std::abs(out.value[r][c]) + error);
        }
      }
    }
  }
  const int steps = problem_.hidden + problem_.hidden / 128 + 2;
  for (int r = 0; r < rows; ++r) {
    const double x_norm = std::sqrt(x_squared[r]);
    for (int c = 0; c < kColumns; ++c) {
      const double norms = x_norm * std::sqrt(norm_squared[c]);
      if (!weights_.mx())
        out.error[r][c] = RunningSumError(norms, steps, problem_.worst_case);
      out.reach[r][c] = UnscaledReach(norms, x_norm, problem_.hidden) + out.error[r][c];
    }
  }
}

double ExpertEvaluator::UnscaledReach(double norms, double x_norm, int depth) const {
  constexpr double kLargestE4M3Fn = 448;
  return problem_.weights == Weights::kFp8E4M3Fn
             ? norms + x_norm * kLargestE4M3Fn * std::sqrt(depth)
             : norms;
}

double ExpertEvaluator::Bias(int expert, int half, int i) const {
  if (problem_.gate_up_bias == nullptr)
    return 0;
  const std::size_t width = problem_.intermediate;
  std::size_t at = (std::size_t(expert) * 2 + half) * width + i;
  if (weights_.mx()) {
    const std::size_t row = (std::size_t(expert) * 128 + i % 128) * 2 + half;
    at = row * (width / 128) + i / kPassRows * 4 + i % kPassRows / 128;
  }
  return DecodeBf16(problem_.gate_up_bias[at]);
}

void ExpertEvaluator::GateUpColumns(int expert, int column, const Matrix& x,
                                    Intermediate& out) const {
  const int rows = static_cast<int>(x.data.size()) / x.columns;
  Projection gate(rows);
  Projection up(rows);
  Project(expert, 0, column, x, gate);
  Project(expert, 1, column, x, up);
  const double unit = weights_.mx() ? kUnitBf16 : kUnitFp32;  // of the sum with the bias
  const int columns = std::min(kColumns, problem_.intermediate - column);
  std::vector<Spot> spots;
  for (int c = 0; c < columns; ++c) {
    const double gate_bias = Bias(expert, 0, column + c);
    const double up_bias = Bias(expert, 1, column + c);
    const int at = weights_.OrderOfIntermediate(column + c);
    for (int r = 0; r < rows; ++r) {
      const double g = gate.value[r][c] + gate_bias;
      const double u = up.value[r][c] + up_bias;
      const double g_error = gate.error[r][c] + unit * (std::abs(g) + gate.error[r][c]);
      const double u_error = up.error[r][c] + unit * (std::abs(u) + up.error[r][c]);
      const double clamped = Clamp(g, problem_.gate_lower, problem_.gate_upper);
      const double clamped_error =
          ClampSpread(g, g_error, problem_.gate_lower, problem_.gate_upper);
      const double b = Clamp(u, problem_.up_lower, problem_.up_upper);
      const double b_error = ClampSpread(u, u_error, problem_.up_lower, problem_.up_upper);
      const double a = Evaluate(problem_.activation, clamped);
      double a_error = SpreadBound(problem_.activation, clamped, clamped_error);
      a_error += (kUnitBf16 + 8 * kUnitFp32) * (std::abs(a) + a_error);
      const double y = a * b;
      double y_error = std::abs(a) * b_error + std::abs(b) * a_error + a_error * b_error;
      y_error += kUnitBf16 * (std::abs(y) + y_error) + kTiny;
      out.value[r][at] = y;
      out.error[r][at] = y_error;
      out.variance[r][at] = VarianceOf(y_error);
      const double reach = gate.reach[r][c] + up.reach[r][c] + std::abs(gate_bias) +
                           std::abs(up_bias) + std::abs(a) + a_error + std::abs(y) + y_error;
      if (!(reach < kSafeMagnitude))
        spots.push_back({r, c});
    }
  }
  GateUpOutcomes(expert, column, x, spots, out);
}

// quantize_mx of the machine's intermediate: at most half a step of the scale its largest possible
// magnitude gives; a block with a value that is no number is NaN.
void ExpertEvaluator::AddQuantisation(int row, Intermediate& out) const {
  double* error = out.error[row];
  double* variance = out.variance[row];
  const double* value = out.value[row];
  for (int k = 0; k < problem_.intermediate; k += kBlock) {
    std::uint8_t* const outcomes = out.outcomes[row] + k;
    const auto is_number = [](std::uint8_t can) { return can == kFinite; };
    if (!std::all_of(outcomes, outcomes + kBlock, is_number)) {
      const auto can_be = [](std::uint8_t can) { return (can & kFinite) != 0; };
      const bool can_all = std::all_of(outcomes, outcomes + kBlock, can_be);
      std::fill_n(outcomes, kBlock, can_all ? kNaN | kFinite : kNaN);
    }
    double amax = 0;
    for (int j = k; j < k + kBlock; ++j)
      amax = std::max(amax, std::abs(value[j]) + error[j]);
    if (!std::isfinite(amax))
      continue;
    const int exponent = BlockExponent(amax, problem_.ocp_rule);
    const double saturation = std::ldexp(448.0, exponent);
    for (int j = k; j < k + kBlock; ++j) {
      const double magnitude = std::abs(value[j]) + error[j];
      const double step = std::max(HalfStepE4M3Fn(std::min(magnitude, saturation), exponent),
                                   magnitude - saturation);
      error[j] += step;
      variance[j] += VarianceOf(step);
    }
  }
}

// The sums of one panel of the down projection, per row and column.
struct ExpertEvaluator::DownSums {
  DownSums(int rows, int parts)
      : part(parts, Matrix(rows, kColumns)),
        variance(rows, kColumns),
        worst(rows, kColumns),
        rounding(rows, kColumns),
        rounding_variance(rows, kColumns) {}
  std::vector<Matrix> part;                     // each core's sum over its part of I
  Matrix variance;                              // of what the intermediate's errors add up to
  Matrix worst;                                 // their sum of magnitudes
  Matrix rounding;                              // roundings of the sums themselves, worst case
  Matrix rounding_variance;                     // and their variance
  std::array<double, kColumns> norm_squared{};  // of the weights
};

void ExpertEvaluator::SumDown(int expert, int column, const Intermediate& y, DownSums& out) const {
  const int rows = static_cast<int>(y.value.data.size()) / y.value.columns;
  const std::size_t stride = y.value.columns;
  const auto panel = std::make_unique<Panel>();
  std::vector<PanelSums> sums(rows), squares(rows), magnitudes(rows);
  for (const auto& [at, depth, core] : DownPasses(problem_)) {
    weights_.ReadDown(expert, at, depth, column, *panel);
    std::array<double, kColumns> norm;
    for (int c = 0; c < kColumns; ++c) {
      norm[c] = Norm(&panel->weight[0][c], depth, kColumns);
      out.norm_squared[c] += Square(norm[c]);
    }
    Multiply(*panel, depth, y.value[0] + at, stride, rows, sums.data());
    panel->Map([](double w) { return std::abs(w); });
    Multiply(*panel, depth, y.error[0] + at, stride, rows, magnitudes.data());
    panel->Map(Square);
    Multiply(*panel, depth, y.variance[0] + at, stride, rows, squares.data());
    Matrix& part = out.part[core];
    for (int r = 0; r < rows; ++r) {
      const double y_norm = Norm(y.value[r] + at, depth);
      for (int c = 0; c < kColumns; ++c) {
        part[r][c] += sums[r].value[c];
        out.variance[r][c] += squares[r].value[c];
        out.worst[r][c] += magnitudes[r].value[c];
        if (weights_.mx()) {  // the bf16 accumulator rounds after every pass
          const double error = kUnitBf16 * (std::abs(part[r][c]) + out.rounding[r][c]) +
                               kPassError * y_norm * norm[c];
          out.rounding[r][c] += error;
          out.rounding_variance[r][c] += VarianceOf(error);
        }
      }
    }
  }
}

double ExpertEvaluator::DownBias(int expert, int h) const {
  const std::size_t at = std::size_t(expert) * problem_.hidden + h;
  return problem_.down_bias == nullptr ? 0 : DecodeBf16(problem_.down_bias[at]);
}

bool ExpertEvaluator::Intermediate::AllFinite(int row) const {
  const auto first = outcomes[row];
  return std::all_of(first, first + outcomes.columns, [](auto can) { return can == kFinite; });
}

void ExpertEvaluator::DownColumns(int expert, int column, const Intermediate& y,
                                  std::span<const double> affinities, ExpertResult& out) const {
  const int rows = static_cast<int>(y.value.data.size()) / y.value.columns;
  DownSums sums(rows, PartsOf(problem_));
  SumDown(expert, column, y, sums);
  const bool mx = weights_.mx();
  const bool split = problem_.split_intermediate;
  const double passes = static_cast<double>(DownPasses(problem_).size());
  const int steps = problem_.intermediate + problem_.intermediate / 128 + 2;
  const int columns = std::min(kColumns, problem_.hidden - column);
  std::vector<Spot> spots;
  std::vector<double> y_norms(rows), error_norms(rows);
  std::vector<bool> all_finite(rows);
  for (int r = 0; r < rows; ++r) {
    y_norms[r] = Norm(y.value[r], problem_.intermediate);
    error_norms[r] = Norm(y.error[r], problem_.intermediate);
    all_finite[r] = y.AllFinite(r);
  }
  for (int c = 0; c < columns; ++c) {
    const double bias = DownBias(expert, column + c);
    for (int r = 0; r < rows; ++r) {
      const double likely = kLambda * std::sqrt(sums.variance[r][c]);
      const double spread =
          problem_.worst_case ? sums.worst[r][c] : std::min(sums.worst[r][c], likely);
      double rounding = sums.rounding[r][c];
      double variance = sums.variance[r][c] + sums.rounding_variance[r][c];
      const auto round = [&](double unit, double magnitude) {
        rounding += unit * (std::abs(magnitude) + spread + rounding);
        variance += VarianceOf(unit * magnitude);
      };
      const double norms = y_norms[r] * std::sqrt(sums.norm_squared[c]);
      if (mx) {
        rounding += passes * kUnitBf16 * spread;  // the accumulator held the spread as well
      } else {
        rounding += RunningSumError(norms, steps, problem_.worst_case);
      }
      double sum = 0;
      for (std::size_t core = 0; core < sums.part.size(); ++core) {
        if (split && !mx)  // the fp32 sums leave PSUM as bf16
          round(kUnitBf16, sums.part[core][r][c]);
        sum += sums.part[core][r][c];
      }
      // As often as two are added; no sum on the way is larger than all magnitudes together.
      double magnitude = 0;
      for (std::size_t core = 0; core + 1 < sums.part.size() && split; ++core) {
        magnitude += std::abs(sums.part[core][r][c]);
        if (core > 0)
          round(kUnitBf16, magnitude);
      }
      if (sums.part.size() > 1)
        round(kUnitBf16, sum);
      round(mx || split ? kUnitBf16 : kUnitFp32, sum + bias);
      out.value[r][column + c] = sum + bias;
      out.bound[r][column + c] = spread + rounding;
      out.variance[r][column + c] = variance;
      double reach = UnscaledReach(norms, y_norms[r] + error_norms[r], problem_.intermediate);
      reach += sums.worst[r][c] + std::abs(bias) + spread + rounding;
      reach *= std::max(1.0, std::abs(affinities[r]));
      if (!all_finite[r] || !(reach < kSafeMagnitude))
        spots.push_back({r, c});
    }
  }
  DownOutcomes(expert, column, y, spots, affinities, out);
}

ExpertResult ExpertEvaluator::Run(int expert, std::span<const std::int32_t> tokens) const {
  const int rows = static_cast<int>(tokens.size());
  const Matrix x = GatherHidden(expert, tokens);
  Intermediate y(rows, problem_.intermediate);
  const auto panels = [](int columns) { return (columns + kColumns - 1) / kColumns; };
  ForEachIndex(problem_.threads, panels(problem_.intermediate),
               [&](int panel) { GateUpColumns(expert, panel * kColumns, x, y); });
  if (weights_.mx())
    ForEachIndex(problem_.threads, rows, [&](int row) { AddQuantisation(row, y); });
  std::vector<double> affinities(rows, 1.0);
  for (int r = 0; r < rows && problem_.scaling == Scaling::kPost; ++r)
    affinities[r] = AffinityOf(problem_, tokens[r], expert);
  ExpertResult result(rows, problem_.hidden);
  ForEachIndex(problem_.threads, panels(problem_.hidden),
               [&](int panel) { DownColumns(expert, panel * kColumns, y, affinities, result); });
  return result;
}

}  // namespace bwmm::reference
