// Elements that may leave the range of fp32 or bf16: step by step along the documented path
// (docs/numerics.md, "What rounds where in moe_cte").
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "kernels/moe_cte/expert_bound_ref.h"
#include "kernels/moe_cte/expert_ref.h"
#include "kernels/moe_cte/formats_ref.h"
#include "kernels/moe_cte/path_sum_ref.h"

namespace bwmm::reference {

// Gate or up with its scale and bias, before the clamp.
std::vector<Range> ExpertEvaluator::PathOfHalf(int expert, int half, int column, const Matrix& x,
                                               std::span<const Spot> spots) const {
  std::vector<PathSum> sums(spots.size(), PathSum(IsMx(problem_.weights)));
  const auto panel = std::make_unique<Panel>();
  std::array<Range, kPassRows> of_row;
  for (int pass = 0; pass * kPassRows < problem_.hidden; ++pass) {
    const int depth =
        value_.weights().ReadGateUp(expert, half, pass, column, *panel, WeightReader::kRaw);
    int row = -1;
    for (std::size_t s = 0; s < spots.size(); ++s) {
      if (spots[s].row != row) {
        row = spots[s].row;
        std::transform(x[row] + pass * kPassRows, x[row] + pass * kPassRows + depth, of_row.begin(),
                       Exactly);
      }
      sums[s].Add(*panel, spots[s].column, depth, of_row.data());
    }
  }
  std::vector<Range> results;
  for (std::size_t s = 0; s < spots.size(); ++s) {
    const int i = column + spots[s].column;
    Range result = sums[s].InPsum();
    if (const auto scale = value_.weights().GateUpScale(expert, half, i))
      result = RoundedToFp32(Times(result, Exactly(*scale)));
    if (problem_.gate_up_bias != nullptr) {
      result = RoundedToFp32(Plus(result, Exactly(value_.GateUpBias(expert, half, i))));
      if (IsMx(problem_.weights))
        result = RoundedToBf16(result);
    }
    results.push_back(result);
  }
  return results;
}

void ExpertEvaluator::GateUpOutcomes(int expert, int column, const Matrix& x,
                                     std::span<const Spot> spots, BoundedRows& out) const {
  if (spots.empty())
    return;
  const std::vector<Range> gate = PathOfHalf(expert, 0, column, x, spots);
  const std::vector<Range> up = PathOfHalf(expert, 1, column, x, spots);
  for (std::size_t s = 0; s < spots.size(); ++s) {
    const Range a =
        Activated(problem_.activation, Clamped(gate[s], problem_.gate_lower, problem_.gate_upper));
    const Range b = Clamped(up[s], problem_.up_lower, problem_.up_upper);
    const Range y = RoundedToBf16(Times(a, b));
    const int r = spots[s].row;
    const int at = value_.weights().OrderOfIntermediate(column + spots[s].column);
    out.value[r][at] = y.value;
    out.bound[r][at] = y.error;
    out.variance[r][at] = VarianceOf(y.error);
    out.outcomes[r][at] = static_cast<std::uint8_t>(y.can);
  }
}

// quantize_mx of an intermediate row: a scale group with a value that is no number is NaN.
void ExpertEvaluator::QuantisedOutcomes(int row, BoundedRows& out) const {
  for (int k = 0; k < problem_.intermediate; k += kGroupElements) {
    const std::span<std::uint8_t> outcomes(out.outcomes[row] + k, kGroupElements);
    if (std::ranges::all_of(outcomes, [](std::uint8_t can) { return can == kFinite; }))
      continue;
    const bool can_all =
        std::ranges::all_of(outcomes, [](std::uint8_t can) { return (can & kFinite) != 0; });
    std::ranges::fill(outcomes, static_cast<std::uint8_t>(can_all ? kNaN | kFinite : kNaN));
  }
}

// From the sums of all cores (or of one that has all of I) to the row added to the output.
Range ExpertEvaluator::FinishRow(std::span<Range> sums, std::optional<double> scale,
                                 std::optional<double> bias, double affinity) const {
  const bool mx = IsMx(problem_.weights);
  const bool split = problem_.split_intermediate;
  const bool on_i = problem_.affinity_on_i;
  for (Range& sum : sums) {
    if (scale)
      sum = RoundedToFp32(Times(sum, Exactly(*scale)));
    if (split)
      sum = RoundedToBf16(sum);
  }
  Range row = sums[0];
  for (const Range& other : sums.subspan(1))
    row = RoundedToBf16(Plus(row, other));
  if (bias) {
    Range addend = Exactly(*bias);
    if (on_i)
      addend = RoundedToFp32(Times(addend, Exactly(affinity)));
    row = RoundedToFp32(Plus(row, addend));
    if (mx || split)
      row = RoundedToBf16(row);
  }
  if (problem_.scaling == Scaling::kPost && !on_i) {
    row = RoundedToFp32(Times(row, Exactly(affinity)));
    if (mx)
      row = RoundedToBf16(row);
  }
  return row;
}

void ExpertEvaluator::DownOutcomes(int expert, int column, const BoundedRows& y,
                                   std::span<const Spot> spots, std::span<const double> affinities,
                                   BoundedRows& out) const {
  if (spots.empty())
    return;
  const auto panel = std::make_unique<Panel>();
  std::array<Range, kPassRows> of_row;
  const int parts = PartsOf(problem_);
  std::vector<std::vector<PathSum>> sums(
      spots.size(), std::vector<PathSum>(parts, PathSum(IsMx(problem_.weights))));
  for (const auto& [first, depth, core] : DownPasses(problem_)) {
    value_.weights().ReadDown(expert, first, depth, column, *panel, WeightReader::kRaw);
    int row = -1;
    for (std::size_t s = 0; s < spots.size(); ++s) {
      if (spots[s].row != row) {
        row = spots[s].row;
        const Range affinity = Exactly(affinities[row]);
        for (int k = 0; k < depth; ++k) {
          of_row[k] = {y.value[row][first + k], y.bound[row][first + k],
                       y.outcomes[row][first + k]};
          if (problem_.affinity_on_i)
            of_row[k] = RoundedToBf16(Times(of_row[k], affinity));
        }
      }
      sums[s][core].Add(*panel, spots[s].column, depth, of_row.data());
    }
  }
  for (std::size_t s = 0; s < spots.size(); ++s) {
    const auto& [r, c] = spots[s];
    std::vector<Range> of_cores;
    for (const PathSum& sum : sums[s])
      of_cores.push_back(IsMx(problem_.weights) ? sum.InPsum() : sum.InAnyChunks());
    const auto bias = problem_.down_bias == nullptr
                          ? std::nullopt
                          : std::optional(value_.DownBias(expert, column + c));
    const Range row =
        FinishRow(of_cores, value_.weights().DownScale(expert, column + c), bias, affinities[r]);
    out.outcomes[r][column + c] = static_cast<std::uint8_t>(row.can);
    if ((row.can & kFinite) == 0) {
      out.value[r][column + c] = 0;
      out.bound[r][column + c] = 0;
      out.variance[r][column + c] = 0;
    }
  }
}

}  // namespace bwmm::reference
