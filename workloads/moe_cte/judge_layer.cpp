#include "workloads/moe_cte/judge_layer.h"

#include <fmt/format.h>

#include <cmath>

#include "model/support/sim_error.h"

namespace bwmm::workloads {
namespace {

// Multiply-adds of the reference up to which `auto` runs it: gpt-oss-20b at 512 tokens.
constexpr double kAutoCheckWork = 6e10;
// No two bf16 numbers of one sign are further apart than this many units of either.
constexpr double kMostUlps = 0x1p15;

std::string RuleText(const reference::Comparison& comparison) {
  switch (comparison.failed) {
    case reference::Rule::kNone:
      return "";
    case reference::Rule::kOutcome:
      return fmt::format(
          "outcome: {} elements are NaN, Inf or a number where the documented path gives something "
          "else",
          comparison.wrong_outcomes);
    case reference::Rule::kNothingCompared:
      return "something compared: no element is a number with a finite bound";
    case reference::Rule::kOnlyZeros:
      return fmt::format(
          "not only zeros: all elements are zero, the furthest off by {:.3g} of its "
          "bound",
          comparison.max_bound_ratio);
    case reference::Rule::kBound:
      return fmt::format("bound: {} of {} elements are further off than their bound",
                         comparison.outside, comparison.count);
    case reference::Rule::kRms:
      return fmt::format(
          "RMS: the differences of row {} are {:.3g} of what roundings add up to, "
          "allowed {:.3g}",
          comparison.worst_rms_token, comparison.max_rms_ratio, reference::kMaxRmsRatio);
  }
  return "";
}

}  // namespace

CheckMode CheckModeOf(const std::string& check) {
  if (check == "auto")
    return CheckMode::kAuto;
  if (check == "on")
    return CheckMode::kOn;
  if (check == "worst_case")
    return CheckMode::kWorstCase;
  if (check == "off")
    return CheckMode::kOff;
  throw SimError("--check {}: allowed auto, on, worst_case, off", check);
}

ErrorReport ErrorOf(const reference::Comparison& comparison, bool worst_case) {
  ErrorReport error{
      .max_row_rel = comparison.max_row_rel,
      .max_ulp_bf16 = comparison.max_ulp_bf16 <= kMostUlps ? comparison.max_ulp_bf16 : HUGE_VAL,
      .max_bound_ratio = comparison.max_bound_ratio,
      .compared = comparison.count,
      .failed_rule = RuleText(comparison),
      .pass = comparison.pass};
  if (!worst_case)
    error.rms_ratio = comparison.max_rms_ratio / reference::kMaxRmsRatio;
  if (comparison.worst_token >= 0) {
    error.worst = {.row = comparison.worst_token,
                   .column = comparison.worst_column,
                   .value = comparison.worst_value,
                   .expected = comparison.worst_expected,
                   .bound = comparison.worst_bound};
  }
  return error;
}

Verdict JudgeLayer(CheckMode mode, LayerJob& job) {
  if (mode == CheckMode::kOff)
    return {.skipped = "--check off"};
  if (mode == CheckMode::kAuto && job.ReferenceWork() > kAutoCheckWork) {
    return {.skipped =
                fmt::format("{:.1e} multiply-adds are over {:.0e}; --check on runs the reference",
                            job.ReferenceWork(), kAutoCheckWork)};
  }
  const bool worst_case = mode == CheckMode::kWorstCase;
  return {.error = ErrorOf(job.Compare(worst_case), worst_case)};
}

}  // namespace bwmm::workloads
