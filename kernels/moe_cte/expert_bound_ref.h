// How far the machine may be from the value of one expert: what each rounding of the documented
// path adds. docs/numerics.md, "Error bounds of a run", derives it.
//
//   gate, up:  ProjectionBound --+--> BoundOf(Gated) --> IntermediateBound (+ quantisation) --+
//                                                        DownBound --> bound, variance, reach <+
//
// A reach is a magnitude no step on the way exceeds: from kSafeMagnitude on a value may leave its
// format, and expert_outcomes_ref.cpp follows it step by step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/moe_cte/expert_value_ref.h"
#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm::reference {

// Half a unit in the last place, relative. A bf16 result is rounded to fp32 first, which the factor
// of the bf16 unit pays for.
inline constexpr double kUnitFp32 = 0x1p-24;
inline constexpr double kUnitBf16 = 0x1.0004p-8;
inline constexpr double kTiny = 0x1p-130;  // above half a step of the subnormals of both
inline constexpr double kLambda = 8;       // standard deviations that a sum may be off

// The variance of one rounding with this bound, were its error uniform.
inline double VarianceOf(double bound) {
  return bound * bound / 3;
}

// Of the sums of gate or up in one panel, before the bias.
class ProjectionBound {
 public:
  ProjectionBound(const MoeCteProblem& problem, const Matrix& x);
  void AddPass(const PanelPass& pass);
  void Finish();  // after the last one

  Matrix error, reach;

 private:
  const MoeCteProblem& problem_;
  const Matrix& x_;
  bool mx_;
  std::array<double, kColumns> norm_squared_{};
  std::vector<double> x_squared_;
};

// Of an element whose gate and up are off by so much before their biases.
struct GatedBound {
  double activated, y;
};
GatedBound BoundOf(const MoeCteProblem& problem, const Gated& value, double gate_error,
                   double up_error);

// quantize_mx of the machine's intermediate row: at most half a step of the scale its largest
// possible magnitude gives. `error` and `variance` grow.
void AddQuantisation(const MoeCteProblem& problem, std::span<const double> value,
                     std::span<double> error, std::span<double> variance);

// Of the down projection in one panel, with the errors of the intermediate [rows, I].
class DownBound {
 public:
  DownBound(const MoeCteProblem& problem, const Matrix& y, const Matrix& error,
            const Matrix& variance);
  void AddPass(const PanelPass& pass);

  // Of the sum of all cores and the bias, one element of the panel. `parts` are the cores' sums.
  struct Element {
    double bound, variance, reach;
  };
  Element Of(int row, int column, std::span<const Matrix> parts, double bias) const;

 private:
  const MoeCteProblem& problem_;
  const Matrix& y_;
  const Matrix& y_error_;
  const Matrix& y_variance_;
  bool mx_;
  double passes_;
  Matrix spread_variance_;                       // of what the intermediate's errors add up to
  Matrix spread_worst_;                          // their sum of magnitudes
  Matrix rounding_;                              // roundings of the sums themselves, worst case
  Matrix rounding_variance_;                     // and their variance
  std::array<double, kColumns> norm_squared_{};  // of the weights
  std::vector<double> y_norms_, error_norms_;
};

}  // namespace bwmm::reference
