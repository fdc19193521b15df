#include "kernels/moe_cte/output_bound_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/moe_cte/expert_bound_ref.h"
#include "kernels/moe_cte/range_ref.h"

namespace bwmm::reference {
namespace {

double NoNumber(unsigned outcomes) {
  if (outcomes == kPositiveInf)
    return HUGE_VAL;
  return outcomes == kNegativeInf ? -HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

OutputBound::OutputBound(const MoeCteProblem& problem, MoeCteResult& result)
    : problem_(problem),
      result_(result),
      magnitude_(result.output.size(), 0.0),
      rounds_product_(IsMx(problem.weights) && problem.scaling == Scaling::kPost) {
  result.bound.assign(result.output.size(), 0.0);
  result.sigma.assign(result.output.size(), 0.0);  // the variance until Finish
}

void OutputBound::Add(std::size_t at, const Term& term) {
  magnitude_[at] += std::abs(term.value) + term.error;
  // With MX weights the product is rounded on its own, else it is fused with the addition.
  const double product = rounds_product_ ? kUnitBf16 * (std::abs(term.value) + term.error)
                                         : 4 * kUnitFp32 * (std::abs(term.value) + term.error);
  const double sum = kUnitBf16 * magnitude_[at] + (term.value == 0 ? 0 : kTiny);
  result_.bound[at] += term.error + product + sum;
  result_.sigma[at] += term.variance + (product * product + sum * sum) / 3;
  if (term.outcomes != kFinite)
    Join(at, term.outcomes);
  // One output row, in the order of the blocks, which is that of the experts.
  if (problem_.split_intermediate && !(magnitude_[at] < kSafeMagnitude))
    Round(at, result_.output[at], result_.output[at]);
}

void OutputBound::Finish() {
  for (std::size_t at = 0; at < magnitude_.size(); ++at) {
    // Each core has a plane when it computes whole blocks: which term goes to which is open, so a
    // plane may get the positive ones alone, or the negative ones. They are added once more.
    if (!problem_.split_intermediate && !(magnitude_[at] < kSafeMagnitude)) {
      Round(at, (result_.output[at] - magnitude_[at]) / 2, 0);
      Round(at, 0, (result_.output[at] + magnitude_[at]) / 2);
      Round(at, result_.output[at], result_.output[at]);
    }
    // kUnitBf16 has room for one addition in fp32 before the rounding, not for more of them.
    const double planes = kUnitBf16 + std::max(0, problem_.cores - 2) * kUnitFp32;
    const double sum =
        problem_.split_intermediate || problem_.cores == 1 ? 0 : planes * magnitude_[at];
    result_.bound[at] += sum;
    result_.sigma[at] = std::sqrt(result_.sigma[at] + sum * sum / 3);
    if (!result_.outcomes.empty() && (result_.outcomes[at] & kFinite) == 0)
      result_.output[at] = NoNumber(result_.outcomes[at]);
  }
  if (problem_.worst_case)
    result_.sigma.clear();
}

void OutputBound::Join(std::size_t at, unsigned outcomes) {
  if (result_.outcomes.empty())
    result_.outcomes.assign(result_.output.size(), kFinite);
  result_.outcomes[at] = static_cast<std::uint8_t>(AddOutcomes(result_.outcomes[at], outcomes));
}

// A sum that may lie between low and high, and off by its bound, becomes bf16.
void OutputBound::Round(std::size_t at, double low, double high) {
  const double error = std::isnan(result_.bound[at]) ? HUGE_VAL : result_.bound[at];
  Join(at, OutcomesOfBf16(low - error, high + error));
}

}  // namespace bwmm::reference
