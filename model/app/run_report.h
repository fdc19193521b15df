// What a run found, in one struct: the terminal report and the JSON file say the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/system/machine.h"

namespace bwmm::app {

// How far the result is from the double-precision reference; see docs/numerics.md.
struct ErrorReport {
  double max_row_rel = 0;      // largest |difference| / largest |expected| of a row
  double max_ulp_bf16 = 0;     // in units of the result type's last place (bf16 for layers)
  double max_bound_ratio = 0;  // largest |difference| / derived bound
  // Layers: root mean square of the differences / its limit; none where only the bound is a rule.
  std::optional<double> rms_ratio = std::nullopt;
  std::int64_t compared = 0;     // elements; a report that compared nothing never passes
  std::string failed_rule = {};  // which rule failed, in words; empty when it passes
  // The element closest to its bound, or outside it.
  struct Element {
    std::int64_t row = 0, column = 0;
    double value = 0, expected = 0, bound = 0;
  };
  std::optional<Element> worst = std::nullopt;
  bool pass = false;
};

struct RunReport {
  std::string command;  // "run", "matmul", "quantize"
  // Rows in front of the table: (key, value).
  std::vector<std::pair<std::string, std::string>> facts;
  std::string variant, model;
  int tokens = 0;
  bool checked = true;  // for races and reads of unwritten bytes
  bool timed = true;    // false: the sequential executor, which has no cycles
  Fidelity fidelity = Fidelity::kFast;
  MachineConfig machine;
  RunResult result;
  double wall_seconds = 0;              // of the simulation alone
  std::optional<std::string> checksum;  // none in timing
  std::optional<ErrorReport> error;
  std::string error_skipped;  // why there is no `error`
};

// The short table on stdout.
std::string ToText(const RunReport& report);

// The keys scripts use, and one entry per core. Written whole or not at all.
void WriteJson(const RunReport& report, const std::string& path);

// Peak rate of the PE array, FLOP/s: 2 per multiply-add.
double PeakFlops(const MachineConfig& machine, bool mx);

}  // namespace bwmm::app
