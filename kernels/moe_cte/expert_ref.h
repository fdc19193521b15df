// One expert on a set of rows, from the hidden rows to the down projection:
//
//   expert_value_ref.h     what it gives, in double
//   expert_bound_ref.h     how far the machine may be from that
//   expert_outcomes_ref.cpp   where it may give no number at all
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/moe_cte/expert_value_ref.h"
#include "kernels/moe_cte/moe_cte_ref.h"
#include "kernels/moe_cte/range_ref.h"

namespace bwmm::reference {

using OutcomeSets = Grid<std::uint8_t>;

// Numbers, what may be wrong with each of them, and what they may be instead.
struct BoundedRows {
  BoundedRows(int rows, int columns)
      : value(rows, columns),
        bound(rows, columns),
        variance(rows, columns),
        outcomes(rows, columns, kFinite) {}
  Matrix value;
  Matrix bound;
  Matrix variance;  // bound^2 / 3, the bounds of the parts apart
  OutcomeSets outcomes;
};

class ExpertEvaluator {
 public:
  explicit ExpertEvaluator(const MoeCteProblem& problem) : problem_(problem), value_(problem) {}

  // down(..) + down_bias of every row, before any affinity; outcomes of the row that is added to
  // the output, after any affinity.
  BoundedRows Run(int expert, std::span<const std::int32_t> tokens) const;

 private:
  // An element of a panel that may leave fp32's or bf16's range on its way.
  struct Spot {
    int row;
    int column;
  };

  void GateUpColumns(int expert, int column, const Matrix& x, BoundedRows& out) const;
  void DownColumns(int expert, int column, const BoundedRows& y, std::span<const double> affinities,
                   BoundedRows& out) const;

  // Along the documented path, step by step: expert_outcomes_ref.cpp.
  std::vector<Range> PathOfHalf(int expert, int half, int column, const Matrix& x,
                                std::span<const Spot> spots) const;
  void GateUpOutcomes(int expert, int column, const Matrix& x, std::span<const Spot> spots,
                      BoundedRows& out) const;
  void QuantisedOutcomes(int row, BoundedRows& out) const;
  void DownOutcomes(int expert, int column, const BoundedRows& y, std::span<const Spot> spots,
                    std::span<const double> affinities, BoundedRows& out) const;
  Range FinishRow(std::span<Range> sums, std::optional<double> scale, std::optional<double> bias,
                  double affinity) const;

  const MoeCteProblem& problem_;
  ExpertValue value_;
};

}  // namespace bwmm::reference
