#include "kernels/moe_cte/expert_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/moe_cte/expert_bound_ref.h"
#include "kernels/moe_cte/threads_ref.h"

namespace bwmm::reference {

void ExpertEvaluator::GateUpColumns(int expert, int column, const Matrix& x,
                                    BoundedRows& out) const {
  ProjectionBound gate_bound(problem_, x), up_bound(problem_, x);
  const auto project = [&](int half, ProjectionBound& bound) {
    const Matrix sums = value_.Project(expert, half, column, x,
                                       [&](const PanelPass& pass) { bound.AddPass(pass); });
    bound.Finish();
    return sums;
  };
  const Matrix gate = project(0, gate_bound);
  const Matrix up = project(1, up_bound);
  const int columns = std::min(kColumns, problem_.intermediate - column);
  std::vector<Spot> spots;
  for (int c = 0; c < columns; ++c) {
    const double gate_bias = value_.GateUpBias(expert, 0, column + c);
    const double up_bias = value_.GateUpBias(expert, 1, column + c);
    const int at = value_.weights().OrderOfIntermediate(column + c);
    for (int r = 0; r < x.rows(); ++r) {
      const Gated value = value_.Gate(gate[r][c] + gate_bias, up[r][c] + up_bias);
      const GatedBound bound =
          BoundOf(problem_, value, gate_bound.error[r][c], up_bound.error[r][c]);
      out.value[r][at] = value.y;
      out.bound[r][at] = bound.y;
      out.variance[r][at] = VarianceOf(bound.y);
      const double reach = gate_bound.reach[r][c] + up_bound.reach[r][c] + std::abs(gate_bias) +
                           std::abs(up_bias) + std::abs(value.activated) + bound.activated +
                           std::abs(value.y) + bound.y;
      if (!(reach < kSafeMagnitude))
        spots.push_back({r, c});
    }
  }
  GateUpOutcomes(expert, column, x, spots, out);
}

void ExpertEvaluator::DownColumns(int expert, int column, const BoundedRows& y,
                                  std::span<const double> affinities, BoundedRows& out) const {
  DownBound bound(problem_, y.value, y.bound, y.variance);
  const std::vector<Matrix> parts =
      value_.SumDown(expert, column, y.value, [&](const PanelPass& pass) { bound.AddPass(pass); });
  const int rows = y.value.rows();
  std::vector<bool> all_finite;
  for (int r = 0; r < rows; ++r)
    all_finite.push_back(std::all_of(y.outcomes[r], y.outcomes[r] + y.outcomes.columns,
                                     [](std::uint8_t can) { return can == kFinite; }));
  const int columns = std::min(kColumns, problem_.hidden - column);
  std::vector<Spot> spots;
  for (int c = 0; c < columns; ++c) {
    const double bias = value_.DownBias(expert, column + c);
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (const Matrix& part : parts)
        sum += part[r][c];
      const DownBound::Element element = bound.Of(r, c, parts, bias);
      out.value[r][column + c] = sum + bias;
      out.bound[r][column + c] = element.bound;
      out.variance[r][column + c] = element.variance;
      const double reach = element.reach * std::max(1.0, std::abs(affinities[r]));
      if (!all_finite[r] || !(reach < kSafeMagnitude))
        spots.push_back({r, c});
    }
  }
  DownOutcomes(expert, column, y, spots, affinities, out);
}

BoundedRows ExpertEvaluator::Run(int expert, std::span<const std::int32_t> tokens) const {
  const int rows = static_cast<int>(tokens.size());
  const Matrix x = value_.Hidden(expert, tokens);
  BoundedRows y(rows, problem_.intermediate);
  const auto panels = [](int columns) { return (columns + kColumns - 1) / kColumns; };
  ForEachIndex(problem_.threads, panels(problem_.intermediate),
               [&](int panel) { GateUpColumns(expert, panel * kColumns, x, y); });
  if (IsMx(problem_.weights)) {
    const std::size_t size = problem_.intermediate;
    ForEachIndex(problem_.threads, rows, [&](int row) {
      QuantisedOutcomes(row, y);
      AddQuantisation(problem_, {y.value[row], size}, {y.bound[row], size},
                      {y.variance[row], size});
    });
  }
  std::vector<double> affinities(rows, 1.0);
  for (int r = 0; r < rows && problem_.scaling == Scaling::kPost; ++r)
    affinities[r] = AffinityOf(problem_, tokens[r], expert);
  BoundedRows result(rows, problem_.hidden);
  ForEachIndex(problem_.threads, panels(problem_.hidden),
               [&](int panel) { DownColumns(expert, panel * kColumns, y, affinities, result); });
  return result;
}

}  // namespace bwmm::reference
