// The report's words and numbers for every verdict.
#include "workloads/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/emit_report.h"
#include "cli/report_json.h"
#include "model/support/sim_error.h"
#include "workloads/moe_cte/judge_layer.h"

namespace bwmm::workloads {
namespace {

using nlohmann::json;
using reference::Comparison;
using reference::Rule;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Comparison Failed(Rule rule) {
  return {.max_row_rel = 0.25,
          .max_ulp_bf16 = 12.5,
          .max_bound_ratio = 1.25,
          .max_rms_ratio = 3,
          .worst_rms_token = 6,
          .count = 40,
          .outside = 7,
          .wrong_outcomes = rule == Rule::kOutcome ? 2 : 0,
          .worst_token = 3,
          .worst_column = 4,
          .worst_value = 1.125,
          .worst_expected = 1,
          .worst_bound = 0.1,
          .failed = rule};
}

RunReport Report(const Comparison& comparison, bool worst_case = false) {
  RunReport report;
  report.timed = false;
  report.verdict.error = ErrorOf(comparison, worst_case);
  return report;
}

TEST(RunReport, NamesTheRuleThatFailedAndTheWorstElement) {
  for (const auto& [rule, words] :
       {std::pair(Rule::kBound, "failed rule +bound: 7 of 40 elements"),
        std::pair(Rule::kRms, "failed rule +RMS: the differences of row 6 are 3 of .*allowed 2"),
        std::pair(Rule::kOutcome, "failed rule +outcome: 2 elements"),
        std::pair(Rule::kOnlyZeros, "failed rule +not only zeros: .* 1.25 of its bound")}) {
    const RunReport report = Report(Failed(rule));
    const std::string text = ToText(report);
    EXPECT_THAT(text, ContainsRegex("error +OUTSIDE: 1.250 of the derived bound, RMS 1.500 of its "
                                    "limit; row-relative 2.500e-01, 12.5 ulp; 40 compared"));
    EXPECT_THAT(text, ContainsRegex(words));
    EXPECT_THAT(text,
                ContainsRegex("worst element +row 3, column 4: 1.125, expected 1, bound 0.1"));
    const json error = json::parse(cli::ToJson(report))["error"];
    EXPECT_FALSE(error["pass"]);
    EXPECT_THAT(text, HasSubstr(error["failed_rule"].get<std::string>()));
    EXPECT_EQ(error["worst"],
              json({{"row", 3}, {"column", 4}, {"value", 1.125}, {"expected", 1}, {"bound", 0.1}}));
    EXPECT_EQ(error["rms_ratio"], 1.5);
    EXPECT_EQ(error["compared"], 40);
  }
}

TEST(RunReport, SaysWhenNothingWasCompared) {
  Comparison comparison = Failed(Rule::kNothingCompared);
  comparison.count = 0;
  const std::string text = ToText(Report(comparison));
  EXPECT_THAT(text, ContainsRegex("error +NOT COMPARED\n"));
  EXPECT_THAT(text, HasSubstr("something compared"));
}

// Whatever a judge says, a report that compared nothing does not pass.
TEST(RunReport, RejectsAPassThatComparedNothing) {
  Comparison comparison = Failed(Rule::kNone);
  comparison.pass = true;
  std::string captured;
  cli::CommonOptions options;
  options.captured_json = &captured;
  EXPECT_TRUE(cli::EmitReport(options, Report(comparison)));
  comparison.count = 0;
  EXPECT_FALSE(cli::EmitReport(options, Report(comparison)));
  EXPECT_FALSE(captured.empty());
}

TEST(RunReport, LeavesOutNumbersThatMeanNothing) {
  Comparison comparison = Failed(Rule::kBound);
  comparison.max_ulp_bf16 = 3e34;
  comparison.max_bound_ratio = HUGE_VAL;
  comparison.max_rms_ratio = HUGE_VAL;
  comparison.worst_value = NAN;
  comparison.worst_expected = -HUGE_VAL;
  const RunReport report = Report(comparison);
  const std::string text = ToText(report);
  EXPECT_THAT(text, HasSubstr("OUTSIDE: - of the derived bound, RMS - of its limit"));
  EXPECT_THAT(text, HasSubstr(", - ulp;"));
  const json error = json::parse(cli::ToJson(report))["error"];
  for (const char* key : {"max_ulp_bf16", "max_bound_ratio", "rms_ratio"})
    EXPECT_TRUE(error[key].is_null()) << key;
  EXPECT_EQ(error["worst"]["value"], "NaN");
  EXPECT_EQ(error["worst"]["expected"], "-Inf");

  comparison.max_bound_ratio = 3e34;
  EXPECT_THAT(ToText(Report(comparison)), HasSubstr("3.0e+34 of the derived bound"));
  // bf16 numbers of one sign are at most 2^15 codes apart.
  comparison.max_ulp_bf16 = 32768;
  EXPECT_THAT(ToText(Report(comparison)), HasSubstr("32768.0 ulp"));
  comparison.max_ulp_bf16 = 32769;
  EXPECT_THAT(ToText(Report(comparison)), HasSubstr("- ulp"));
}

TEST(RunReport, HasNoRootMeanSquareInTheWorstCase) {
  const RunReport report = Report(Failed(Rule::kBound), true);
  EXPECT_THAT(ToText(report), Not(HasSubstr("RMS")));
  EXPECT_TRUE(json::parse(cli::ToJson(report))["error"]["rms_ratio"].is_null());
}

TEST(RunReport, CountsUsefulWorkBesideAllWork) {
  RunReport report;
  report.machine = LoadMachine("trn3");
  report.result.cores.resize(2);
  report.result.cores[0].multiply_adds = 3'000'000;
  report.result.cores[1].multiply_adds = 1'000'000;
  report.result.cycles = 2400;
  report.result.seconds_modelled = 1e-6;
  const auto work = [&] { return json::parse(cli::ToJson(report)); };
  EXPECT_DOUBLE_EQ(work()["throughput"]["tflops"], 8);  // 2 * 4e6 / 1e-6 s
  EXPECT_TRUE(work()["throughput"]["useful_tflops"].is_null());
  EXPECT_THAT(ToText(report), Not(HasSubstr("useful")));
  report.facts.useful_multiply_adds = 500'000;
  EXPECT_DOUBLE_EQ(work()["throughput"]["useful_tflops"], 1);
  EXPECT_DOUBLE_EQ(work()["work"]["useful_share"], 0.125);
  EXPECT_THAT(ToText(report),
              HasSubstr("8.00 TFLOPS over 2 cores, 1.00 useful: 12.5% of the work"));
  EXPECT_EQ(work()["clock_mhz"], 2400);
}

TEST(RunReport, RejectsACheckThatIsNone) {
  EXPECT_EQ(CheckModeOf("worst_case"), CheckMode::kWorstCase);
  try {
    CheckModeOf("sometimes");
    FAIL();
  } catch (const SimError& error) {
    EXPECT_STREQ(error.what(), "--check sometimes: allowed auto, on, worst_case, off");
  }
}

}  // namespace
}  // namespace bwmm::workloads
