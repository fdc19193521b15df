// One expert on a set of rows: values and error bounds from the hidden rows to the down projection.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/moe_cte/moe_cte_ref.h"
#include "kernels/moe_cte/range_ref.h"
#include "kernels/moe_cte/weights_ref.h"

namespace bwmm::reference {

// Half a unit in the last place, relative. A bf16 result is rounded to fp32 first, which the factor
// of the bf16 unit pays for.
inline constexpr double kUnitFp32 = 0x1p-24;
inline constexpr double kUnitBf16 = 0x1.0004p-8;
inline constexpr double kTiny = 0x1p-130;  // above half a step of the subnormals of both
inline constexpr double kLambda = 8;       // standard deviations that a sum may be off

// Rows by columns, row-major.
template <typename T>
struct Grid {
  Grid(int rows, int columns, T value = {})
      : columns(columns), data(static_cast<std::size_t>(rows) * columns, value) {}
  T* operator[](int row) { return &data[static_cast<std::size_t>(row) * columns]; }
  const T* operator[](int row) const { return &data[static_cast<std::size_t>(row) * columns]; }
  int columns;
  std::vector<T> data;
};
using Matrix = Grid<double>;
using OutcomeSets = Grid<std::uint8_t>;

// down(..) + down_bias of every row, before any affinity.
struct ExpertResult {
  ExpertResult(int rows, int hidden)
      : value(rows, hidden),
        bound(rows, hidden),
        variance(rows, hidden),
        outcomes(rows, hidden, kFinite) {}
  Matrix value;
  Matrix bound;
  Matrix variance;
  OutcomeSets outcomes;  // of the row that is added to the output, after any affinity
};

// A stretch of I that one panel covers, and the core that sums it.
struct DownPass {
  int first;
  int depth;
  int core;
};

// Parts of I that are summed apart, one on each core.
inline int PartsOf(const MoeCteProblem& problem) {
  return problem.split_intermediate ? problem.cores : 1;
}

// In the order of I.
std::vector<DownPass> DownPasses(const MoeCteProblem& problem);

double AffinityOf(const MoeCteProblem& problem, std::size_t token, int expert);

class ExpertEvaluator {
 public:
  explicit ExpertEvaluator(const MoeCteProblem& problem) : problem_(problem), weights_(problem) {}

  ExpertResult Run(int expert, std::span<const std::int32_t> tokens) const;

 private:
  // The intermediate of a row in contraction order, and what may be wrong with each element.
  struct Intermediate {
    Intermediate(int rows, int size)
        : value(rows, size),
          error(rows, size),
          variance(rows, size),
          outcomes(rows, size, kFinite) {}
    bool AllFinite(int row) const;
    Matrix value;
    Matrix error;     // bound
    Matrix variance;  // error^2 / 3, the errors of the parts apart
    OutcomeSets outcomes;
  };
  struct Projection;
  struct DownSums;
  // An element of a panel that may leave fp32's or bf16's range on its way.
  struct Spot {
    int row;
    int column;
  };

  Matrix GatherHidden(int expert, std::span<const std::int32_t> tokens) const;
  void GateUpColumns(int expert, int column, const Matrix& x, Intermediate& out) const;
  void Project(int expert, int half, int column, const Matrix& x, Projection& out) const;
  void AddQuantisation(int row, Intermediate& out) const;
  void SumDown(int expert, int column, const Intermediate& y, DownSums& out) const;
  void DownColumns(int expert, int column, const Intermediate& y,
                   std::span<const double> affinities, ExpertResult& out) const;
  double Bias(int expert, int half, int i) const;
  double DownBias(int expert, int h) const;
  // The largest magnitude of a sum before a scale per channel multiplies it.
  double UnscaledReach(double norms, double x_norm, int depth) const;

  // Along the documented path, step by step: expert_outcomes_ref.cpp.
  std::vector<Range> PathOfHalf(int expert, int half, int column, const Matrix& x,
                                std::span<const Spot> spots) const;
  void GateUpOutcomes(int expert, int column, const Matrix& x, std::span<const Spot> spots,
                      Intermediate& out) const;
  void DownOutcomes(int expert, int column, const Intermediate& y, std::span<const Spot> spots,
                    std::span<const double> affinities, ExpertResult& out) const;
  Range FinishRow(std::span<Range> sums, std::optional<double> scale, std::optional<double> bias,
                  double affinity) const;

  const MoeCteProblem& problem_;
  WeightReader weights_;
};

}  // namespace bwmm::reference
