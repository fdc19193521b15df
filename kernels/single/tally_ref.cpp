#include "kernels/single/tally_ref.h"

#include <algorithm>
#include <cmath>

namespace bwmm::reference {
namespace {

// What kind of answer was right, and what came.
std::string KindRule(const ChainValue& expected, double got) {
  if (std::isfinite(got))
    return "a number where the reference leaves the range";
  if (expected.finite)
    return std::isnan(got) ? "NaN where the reference is a number"
                           : "Inf where the reference is a number";
  return "another of +Inf, -Inf and NaN than the reference";
}

double OnlyValue(const ChainValue& outcome) {
  if (outcome.finite)
    return outcome.value;
  if (outcome.nan)
    return Judgement::kNone;
  return outcome.positive ? HUGE_VAL : -HUGE_VAL;
}

}  // namespace

void Tally::Add(int row, int column, const Expected& expected, double got) {
  const ChainValue& outcome = expected.outcome;
  const double bound = std::max(expected.bound, outcome.error);
  if (expected.has_answer)
    ++result_.count;
  const bool allowed = outcome.Allows(got, bound);
  const Judgement::Worst here{row, column, got, OnlyValue(outcome), bound};
  if (!std::isfinite(got) || !outcome.finite) {
    if (!allowed)
      Fail(KindRule(outcome, got), here);
    return;
  }
  const double difference = std::fabs(got - outcome.value);
  const double ratio = bound > 0 ? difference / bound : 0;
  int exponent = 0;
  std::frexp(std::max(std::fabs(outcome.value), row_largest_ / 256), &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - digits_, least_));
  result_.max_ulp = std::fmax(result_.max_ulp, difference / ulp);
  largest_ = std::fmax(largest_, std::fabs(outcome.value));
  difference_ = std::fmax(difference_, difference);
  if (!(ratio <= result_.max_bound_ratio)) {
    result_.max_bound_ratio = ratio;
    if (result_.failed_rule.empty())
      result_.worst = here;
  }
  if (!allowed)
    Fail("an element outside its bound", here);
}

Judgement Tally::Finish() {
  if (largest_ > 0)
    result_.max_rel = difference_ / largest_;
  else if (largest_ == 0)
    result_.max_rel = 0;
  if (result_.count == 0 && result_.failed_rule.empty())
    result_.failed_rule = "nothing compared: every expected value is NaN";
  result_.pass = result_.failed_rule.empty();
  return result_;
}

void Tally::Fail(const std::string& rule, const Judgement::Worst& here) {
  if (!result_.failed_rule.empty())
    return;
  result_.failed_rule = rule;
  result_.worst = here;
}

}  // namespace bwmm::reference
