#include <algorithm>
#include <cmath>

#include "kernels/moe_cte/formats_ref.h"
#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm::reference {
namespace {

double UlpBf16(double magnitude) {
  return std::ldexp(1.0, std::max(magnitude > 0 ? std::ilogb(magnitude) : -126, -126) - 7);
}

Outcome OutcomeOf(double value) {
  if (std::isnan(value))
    return kNaN;
  return std::isfinite(value) ? kFinite : value > 0 ? kPositiveInf : kNegativeInf;
}

unsigned OutcomesAt(const MoeCteResult& expected, std::size_t at) {
  return expected.outcomes.empty() ? unsigned{OutcomeOf(RoundToBf16(expected.output[at]))}
                                   : expected.outcomes[at];
}

class Comparer {
 public:
  Comparer(const MoeCteResult& expected, const std::uint16_t* rows)
      : expected_(expected),
        rows_(rows),
        columns_(expected.columns > 0 ? expected.columns : expected.hidden) {}

  Comparison Run() {
    for (int t = 0; t < expected_.tokens; ++t)
      AddRow(t);
    result_.failed = Failed();
    result_.pass = result_.failed == Rule::kNone;
    return result_;
  }

 private:
  Rule Failed() const {
    if (result_.wrong_outcomes > 0)
      return Rule::kOutcome;
    if (result_.count == 0)
      return Rule::kNothingCompared;
    if (all_zero_)
      return Rule::kOnlyZeros;
    if (result_.outside > 0)
      return Rule::kBound;
    // A row without variance has no room for any difference.
    return result_.max_rms_ratio <= kMaxRmsRatio ? Rule::kNone : Rule::kRms;
  }

  void AddRow(int t) {
    const std::size_t first = static_cast<std::size_t>(t) * expected_.hidden;
    double largest = 0;
    for (int h = 0; h < expected_.hidden; ++h) {
      if ((OutcomesAt(expected_, first + h) & kFinite) != 0)
        largest = std::max(largest, std::abs(expected_.output[first + h]));
    }
    double error_squares = 0;
    double sigma_squares = 0;
    for (int h = 0; h < expected_.hidden; ++h) {
      const std::size_t at = first + h;
      const double want = expected_.output[at];
      const double got = DecodeBf16(rows_[at]);
      all_zero_ = all_zero_ && got == 0;
      if ((OutcomesAt(expected_, at) & OutcomeOf(got)) == 0) {
        ++result_.outside;
        if (result_.wrong_outcomes++ == 0)
          SetWorst(t, h, got);
        continue;
      }
      if (!std::isfinite(got))
        continue;
      const double error = AddNumber(t, h, got);
      error_squares += error * error;
      if (!expected_.sigma.empty())
        sigma_squares += expected_.sigma[at] * expected_.sigma[at];
      if (largest > 0)
        result_.max_row_rel = std::max(result_.max_row_rel, error / largest);
      result_.max_ulp_bf16 =
          std::max(result_.max_ulp_bf16, error / UlpBf16(std::max(std::abs(want), largest / 256)));
    }
    if (error_squares > 0 && !expected_.sigma.empty()) {
      const double ratio = std::sqrt(error_squares / sigma_squares);
      if (ratio > result_.max_rms_ratio || std::isnan(ratio)) {
        result_.max_rms_ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
        result_.worst_rms_token = t;
      }
    }
  }

  // Returns the distance.
  double AddNumber(int t, int h, double got) {
    const std::size_t at = static_cast<std::size_t>(t) * expected_.hidden + h;
    const double error = std::abs(got - expected_.output[at]);
    const double bound = expected_.bound[at];
    // An infinite bound says nothing: that is no comparison.
    if (h < columns_ && std::isfinite(bound))
      ++result_.count;
    const double ratio = error == 0 ? 0 : error / bound;
    if (!(ratio <= 1))
      ++result_.outside;
    if (ratio > result_.max_bound_ratio || std::isnan(ratio)) {
      result_.max_bound_ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
      if (result_.wrong_outcomes == 0)
        SetWorst(t, h, got);
    }
    return error;
  }

  void SetWorst(int t, int h, double got) {
    const std::size_t at = static_cast<std::size_t>(t) * expected_.hidden + h;
    result_.worst_token = t;
    result_.worst_column = h;
    result_.worst_value = got;
    result_.worst_expected = expected_.output[at];
    result_.worst_bound = expected_.bound[at];
  }

  const MoeCteResult& expected_;
  const std::uint16_t* rows_;
  int columns_;
  bool all_zero_ = true;
  Comparison result_;
};

}  // namespace

Comparison Compare(const MoeCteResult& expected, const std::uint16_t* rows) {
  return Comparer(expected, rows).Run();
}

}  // namespace bwmm::reference
