#include "kernels/moe_cte/expert_value_ref.h"

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/moe_cte/activation_ref.h"
#include "kernels/moe_cte/formats_ref.h"

namespace bwmm::reference {

int PartsOf(const MoeCteProblem& problem) {
  return problem.split_intermediate ? problem.cores : 1;
}

std::vector<DownPass> DownPasses(const MoeCteProblem& problem) {
  const bool mx = IsMx(problem.weights);
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

double AffinityOf(const MoeCteProblem& problem, std::size_t token, int expert) {
  const std::size_t at = token * problem.experts + expert;
  return problem.affinities_fp32 != nullptr ? double{problem.affinities_fp32[at]}
                                            : DecodeBf16(problem.affinities_bf16[at]);
}

double Clamp(double x, double lower, double upper) {
  const double low = x > upper ? upper : x;  // a NaN stays
  return low < lower ? lower : low;
}

Matrix ExpertValue::Hidden(int expert, std::span<const std::int32_t> tokens) const {
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
    for (int k = 0; weights_.mx() && k < hidden; k += kGroupElements)
      QuantizeGroup(std::span<double, kGroupElements>(row + k, kGroupElements), problem_.ocp_rule);
  }
  return x;
}

Matrix ExpertValue::Project(int expert, int half, int column, const Matrix& x,
                            const EachPass& each) const {
  Matrix value(x.rows(), kColumns);
  const auto panel = std::make_unique<Panel>();
  std::vector<PanelSums> sums(x.rows());
  for (int pass = 0; pass * kPassRows < problem_.hidden; ++pass) {
    const int first = pass * kPassRows;
    const int depth = weights_.ReadGateUp(expert, half, pass, column, *panel);
    Multiply(*panel, depth, x[0] + first, x.columns, x.rows(), sums.data());
    AddTo(value, sums);
    each({.weights = *panel, .first = first, .depth = depth, .core = 0, .sum = value});
  }
  return value;
}

Gated ExpertValue::Gate(double gate, double up) const {
  const double clamped_gate = Clamp(gate, problem_.gate_lower, problem_.gate_upper);
  const double clamped_up = Clamp(up, problem_.up_lower, problem_.up_upper);
  const double activated = Evaluate(problem_.activation, clamped_gate);
  return {.gate = gate,
          .up = up,
          .clamped_gate = clamped_gate,
          .clamped_up = clamped_up,
          .activated = activated,
          .y = activated * clamped_up};
}

std::vector<Matrix> ExpertValue::SumDown(int expert, int column, const Matrix& y,
                                         const EachPass& each) const {
  std::vector<Matrix> parts(PartsOf(problem_), Matrix(y.rows(), kColumns));
  const auto panel = std::make_unique<Panel>();
  std::vector<PanelSums> sums(y.rows());
  for (const auto& [first, depth, core] : DownPasses(problem_)) {
    weights_.ReadDown(expert, first, depth, column, *panel);
    Multiply(*panel, depth, y[0] + first, y.columns, y.rows(), sums.data());
    AddTo(parts[core], sums);
    each({.weights = *panel, .first = first, .depth = depth, .core = core, .sum = parts[core]});
  }
  return parts;
}

double ExpertValue::GateUpBias(int expert, int half, int i) const {
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

double ExpertValue::DownBias(int expert, int h) const {
  const std::size_t at = std::size_t(expert) * problem_.hidden + h;
  return problem_.down_bias == nullptr ? 0 : DecodeBf16(problem_.down_bias[at]);
}

}  // namespace bwmm::reference
