#include "kernels/single/matmul_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/single/expected_ref.h"

namespace bwmm::reference {
namespace {

// [k][columns] to [columns][k].
std::vector<double> Transposed(const std::vector<double>& rows, int k, int columns) {
  std::vector<double> result(rows.size());
  for (int r = 0; r < k; ++r) {
    for (int c = 0; c < columns; ++c)
      result[std::size_t{1} * c * k + r] = rows[std::size_t{1} * r * columns + c];
  }
  return result;
}

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

class Tally {
 public:
  explicit Tally(bool bf16) : digits_(bf16 ? 8 : 24), least_(bf16 ? -133 : -149) {}

  void Row(double largest) { row_largest_ = largest; }

  void Add(int row, int column, const Expected& expected, double got) {
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

  Judgement Finish() {
    if (largest_ > 0)
      result_.max_rel = difference_ / largest_;
    else if (largest_ == 0)
      result_.max_rel = 0;
    if (result_.count == 0 && result_.failed_rule.empty())
      result_.failed_rule = "nothing compared: every expected value is NaN";
    result_.pass = result_.failed_rule.empty();
    return result_;
  }

 private:
  void Fail(const std::string& rule, const Judgement::Worst& here) {
    if (!result_.failed_rule.empty())
      return;
    result_.failed_rule = rule;
    result_.worst = here;
  }

  const int digits_;
  const int least_;
  double row_largest_ = 0;
  double largest_ = Judgement::kNone;
  double difference_ = Judgement::kNone;
  Judgement result_;
};

}  // namespace

Judgement JudgeMatmul(const MatmulCase& given, const std::vector<double>& out) {
  const std::vector<double> w = Transposed(given.stationary, given.k, given.m);
  const std::vector<double> x = Transposed(given.moving, given.k, given.n);
  Tally tally(given.bf16_psum);
  for (int i = 0; i < given.m; ++i) {
    const double* row = &out[std::size_t{1} * i * given.n];
    double largest = 0;
    for (int j = 0; j < given.n; ++j) {
      if (std::isfinite(row[j]))
        largest = std::max(largest, std::fabs(row[j]));
    }
    tally.Row(largest);
    for (int j = 0; j < given.n; ++j) {
      const Expected expected = ExpectedElement(given, &w[std::size_t{1} * i * given.k],
                                                &x[std::size_t{1} * j * given.k]);
      tally.Add(i, j, expected, row[j]);
    }
  }
  return tally.Finish();
}

}  // namespace bwmm::reference
