// One expert on a set of rows: values and error bounds from the hidden rows to the down projection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/moe_cte/moe_cte_ref.h"
#include "kernels/moe_cte/weights_ref.h"

namespace bwmm::reference {

// Half a unit in the last place, relative. A bf16 result is rounded to fp32 first, which the factor
// of the bf16 unit pays for.
inline constexpr double kUnitFp32 = 0x1p-24;
inline constexpr double kUnitBf16 = 0x1.0004p-8;
inline constexpr double kTiny = 0x1p-130;  // above half a step of the subnormals of both
inline constexpr double kLambda = 8;       // standard deviations that a sum may be off

// Rows by columns, row-major.
struct Matrix {
  Matrix(int rows, int columns)
      : columns(columns), data(static_cast<std::size_t>(rows) * columns, 0.0) {}
  double* operator[](int row) { return &data[static_cast<std::size_t>(row) * columns]; }
  const double* operator[](int row) const { return &data[static_cast<std::size_t>(row) * columns]; }
  int columns;
  std::vector<double> data;
};

// down(..) + down_bias of every row, before any affinity.
struct ExpertResult {
  ExpertResult(int rows, int hidden)
      : value(rows, hidden), bound(rows, hidden), variance(rows, hidden) {}
  Matrix value;
  Matrix bound;
  Matrix variance;
};

double AffinityOf(const MoeCteProblem& problem, std::size_t token, int expert);

class ExpertEvaluator {
 public:
  explicit ExpertEvaluator(const MoeCteProblem& problem) : problem_(problem), weights_(problem) {}

  ExpertResult Run(int expert, std::span<const std::int32_t> tokens) const;

 private:
  // The intermediate of a row in contraction order, and what may be wrong with each element.
  struct Intermediate {
    Intermediate(int rows, int size) : value(rows, size), error(rows, size), variance(rows, size) {}
    Matrix value;
    Matrix error;     // bound
    Matrix variance;  // error^2 / 3, the errors of the parts apart
  };
  struct Projection;
  struct DownSums;

  Matrix GatherHidden(int expert, std::span<const std::int32_t> tokens) const;
  void GateUpColumns(int expert, int column, const Matrix& x, Intermediate& out) const;
  void Project(int expert, int half, int column, const Matrix& x, Projection& out) const;
  void AddQuantisation(int row, Intermediate& out) const;
  void SumDown(int expert, int column, const Intermediate& y, DownSums& out) const;
  void DownColumns(int expert, int column, const Intermediate& y, ExpertResult& out) const;
  double Bias(int expert, int half, int i) const;

  const MoeCteProblem& problem_;
  WeightReader weights_;
};

}  // namespace bwmm::reference
