// What a judge found. Standard library only.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace bwmm::reference {

// Figures are NaN where nothing gives them a meaning.
struct Judgement {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double max_rel = kNone;  // largest |difference| / largest |expected|
  // Largest |difference| in the result type's units of the last place; values below 1/256 of their
  // row's largest count as that, for cancellation leaves nothing to be exact about.
  double max_ulp = kNone;
  double max_bound_ratio = kNone;  // largest |difference| / bound, of numbers
  // Elements with an expected answer: a NaN that follows from a NaN operand is none.
  std::int64_t count = 0;
  std::string failed_rule = {};  // empty when it passes
  // The element closest to its bound, or the first one that broke the rule.
  struct Worst {
    std::int64_t row = 0, column = 0;
    double value = 0, expected = 0, bound = 0;
  };
  std::optional<Worst> worst = std::nullopt;
  bool pass = false;
};

}  // namespace bwmm::reference
