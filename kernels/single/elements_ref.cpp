#include "kernels/single/elements_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/single/tally_ref.h"

namespace bwmm::reference {

Judgement JudgeElements(const ElementsCase& given, const std::vector<double>& got) {
  if (got.size() != given.expected.size() || got.size() != given.bound.size())
    return {.failed_rule = "as many elements as the reference has"};
  if (given.columns < 1 || got.size() % given.columns != 0)
    return {.failed_rule = "whole rows of the reference's columns"};
  Tally tally(given.bf16);
  const int rows = static_cast<int>(given.expected.size()) / given.columns;
  for (int row = 0; row < rows; ++row) {
    const auto first = std::size_t{1} * row * given.columns;
    double largest = 0;
    for (int column = 0; column < given.columns; ++column) {
      if (std::isfinite(got[first + column]))
        largest = std::max(largest, std::fabs(got[first + column]));
    }
    tally.Row(largest);
    for (int column = 0; column < given.columns; ++column) {
      const double expected = given.expected[first + column];
      const double bound = given.bound[first + column];
      if (std::isfinite(expected) && !(bound >= 0 && std::isfinite(bound)))
        return {.failed_rule = "a finite bound from 0 for every number expected"};
      ChainValue outcome = KnownValue(expected);
      outcome.error = bound;
      tally.Add(row, column,
                {.outcome = Rounded(outcome, given.bf16 ? kToBf16 : kToFp32),
                 .has_answer = !std::isnan(expected)},
                got[first + column]);
    }
  }
  return tally.Finish();
}

}  // namespace bwmm::reference
