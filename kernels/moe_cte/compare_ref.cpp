#include <algorithm>
#include <cmath>
#include <utility>

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
    // What is left over is judged with the elements before it.
    Pool rest = last_;
    rest.Add(pool_);
    if (pool_.elements > 0 && rest.elements >= kRmsElements)
      SetRms(pool_token_, rest);
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
    return result_.max_rms_ratio <= kMaxRmsRatio ? Rule::kNone : Rule::kRms;
  }

  // Squares of differences and of their sigmas.
  struct Pool {
    double errors = 0, sigmas = 0;
    int elements = 0;  // that have a variance

    void Add(const Pool& other) {
      errors += other.errors;
      sigmas += other.sigmas;
      elements += other.elements;
    }
  };

  void AddRow(int t) {
    const std::size_t first = static_cast<std::size_t>(t) * expected_.hidden;
    double largest = 0;
    for (int h = 0; h < expected_.hidden; ++h) {
      if ((OutcomesAt(expected_, first + h) & kFinite) != 0)
        largest = std::max(largest, std::abs(expected_.output[first + h]));
    }
    Pool row;
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
      if (!expected_.sigma.empty()) {
        const double sigma = expected_.sigma[at];
        row.Add({error * error, sigma * sigma, sigma != 0 ? 1 : 0});
      }
      if (largest > 0)
        result_.max_row_rel = std::max(result_.max_row_rel, error / largest);
      result_.max_ulp_bf16 =
          std::max(result_.max_ulp_bf16, error / UlpBf16(std::max(std::abs(want), largest / 256)));
    }
    // A row without variance has no room for any difference.
    if (row.elements == 0)
      return SetRms(t, row);
    pool_.Add(row);
    pool_token_ = t;
    if (pool_.elements >= kRmsElements) {
      SetRms(t, pool_);
      last_ = std::exchange(pool_, {});
    }
  }

  void SetRms(int t, const Pool& pool) {
    if (pool.errors == 0)
      return;
    const double ratio = std::sqrt(pool.errors / pool.sigmas);
    if (ratio > result_.max_rms_ratio || std::isnan(ratio)) {
      result_.max_rms_ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
      result_.worst_rms_token = t;
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
  Pool pool_, last_;
  int pool_token_ = -1;
  Comparison result_;
};

}  // namespace

Comparison Compare(const MoeCteResult& expected, const std::uint16_t* rows) {
  return Comparer(expected, rows).Run();
}

}  // namespace bwmm::reference
