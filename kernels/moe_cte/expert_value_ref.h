// One expert on a set of rows, in double: the value, and nothing of what rounding may change of it.
//
//   x [rows, H] --Project--> gate, up [rows, I] --Gate--> y [rows, I] --SumDown--> [rows, H] per
//   core
//
// One panel of weights at a time. Who bounds the value (expert_bound_ref.h) looks at each pass of a
// panel, for it needs the same weights.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/moe_cte/moe_cte_ref.h"
#include "kernels/moe_cte/panel_ref.h"
#include "kernels/moe_cte/weights_ref.h"

namespace bwmm::reference {

// Rows by columns, row-major.
template <typename T>
struct Grid {
  Grid(int rows, int columns, T value = {})
      : columns(columns), data(static_cast<std::size_t>(rows) * columns, value) {}
  T* operator[](int row) { return &data[static_cast<std::size_t>(row) * columns]; }
  const T* operator[](int row) const { return &data[static_cast<std::size_t>(row) * columns]; }
  int rows() const { return static_cast<int>(data.size()) / columns; }
  int columns;
  std::vector<T> data;
};
using Matrix = Grid<double>;

inline void AddTo(Matrix& to, const std::vector<PanelSums>& sums) {
  for (int r = 0; r < to.rows(); ++r) {
    for (int c = 0; c < kColumns; ++c)
      to[r][c] += sums[r].value[c];
  }
}

// A stretch of I that one panel covers, and the core that sums it.
struct DownPass {
  int first;
  int depth;
  int core;
};
// Parts of I that are summed apart, one on each core.
int PartsOf(const MoeCteProblem& problem);
// In the order of I.
std::vector<DownPass> DownPasses(const MoeCteProblem& problem);

double AffinityOf(const MoeCteProblem& problem, std::size_t token, int expert);
double Clamp(double x, double lower, double upper);

// One pass of a panel, whose sums are in `sum` already.
struct PanelPass {
  Panel& weights;  // no one's afterwards
  int first;       // element of the contraction
  int depth;
  int core;           // down: the core whose sum it is
  const Matrix& sum;  // [rows, kColumns] of all passes so far
};
using EachPass = std::function<void(const PanelPass&)>;

// y = act(clamp(gate)) * clamp(up) of one element.
struct Gated {
  double gate, up;  // with their biases
  double clamped_gate, clamped_up;
  double activated;
  double y;
};

class ExpertValue {
 public:
  explicit ExpertValue(const MoeCteProblem& problem) : problem_(problem), weights_(problem) {}

  // Hidden rows in contraction order; scaled and quantised where the kernel does it first.
  Matrix Hidden(int expert, std::span<const std::int32_t> tokens) const;
  // Sums of gate (half 0) or up (1) in the panel from `column` on, before the bias.
  Matrix Project(int expert, int half, int column, const Matrix& x, const EachPass& each) const;
  Gated Gate(double gate, double up) const;
  // Each core's sums of the down projection in the panel from `column` on.
  std::vector<Matrix> SumDown(int expert, int column, const Matrix& y, const EachPass& each) const;

  double GateUpBias(int expert, int half, int i) const;
  double DownBias(int expert, int h) const;
  const WeightReader& weights() const { return weights_; }

 private:
  const MoeCteProblem& problem_;
  WeightReader weights_;
};

}  // namespace bwmm::reference
