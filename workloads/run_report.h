// What a run found, in one struct: the terminal report and the JSON file say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/system/machine.h"

namespace bwmm::workloads {

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

// What a layer's routing became; dropped rows are over an expert's capacity.
struct BlockReport {
  std::int64_t blocks = 0, live_blocks = 0, block_size = 0, rows = 0;
  std::optional<std::int64_t> dropped_rows = std::nullopt;  // none where nothing can be dropped
};

// All that is needed to repeat the run, and to see in what it differs from another.
struct Provenance {
  struct Input {
    std::string path, checksum;
  };
  struct MachineChange {
    std::string key;
    std::int64_t value = 0, preset = 0;
  };
  std::vector<std::string> arguments;  // of the command line, without the program
  std::uint64_t seed = 0;
  std::vector<Input> inputs;   // every file that was read
  std::string machine_preset;  // what the machine is compared with
  std::vector<MachineChange> machine_changes;
  std::vector<std::pair<std::string, std::string>> settings;  // model. and kernel. keys set
};

// What a workload says of itself.
struct Facts {
  std::vector<std::pair<std::string, std::string>> rows;  // in front of the table: (key, value)
  // Multiply-adds without padding; none where there is no padding to leave out.
  std::optional<double> useful_multiply_adds = std::nullopt;
  // Of a layer.
  std::string variant = {}, model = {};
  int tokens = 0;
  std::optional<BlockReport> blocks = std::nullopt;
  std::optional<std::string> routing = std::nullopt;  // the path as given
};

// What a reference says of the result, or why it says nothing.
struct Verdict {
  std::optional<ErrorReport> error = std::nullopt;
  std::string skipped = {};
};

struct RunReport {
  std::string command;   // "run", "matmul", "quantize"
  std::string workload;  // its name
  Facts facts;
  bool checked = true;  // for races and reads of unwritten bytes
  bool timed = true;    // false: the sequential executor, which has no cycles
  Fidelity fidelity = Fidelity::kFast;
  MachineConfig machine;
  RunResult result;
  double wall_seconds = 0;              // of the simulation alone
  std::optional<std::string> checksum;  // none in timing
  Verdict verdict;
  Provenance provenance;
};

// What the PE arrays did, as the report states it; nothing without time or without a matmul.
struct Throughput {
  double multiply_adds = 0;
  double tflops = 0;
  std::optional<double> useful_tflops, useful_share;
};
std::optional<Throughput> ThroughputOf(const RunReport& report);

// Sum over cores of one unit.
UnitResult TotalOf(const RunResult& result, int unit);

// Whether a number of ulps says anything: no format of up to 32 bits has that many values.
bool IsMeaningful(double ulps);

// The short table on stdout.
std::string ToText(const RunReport& report);

// Peak rate of the PE array, FLOP/s: 2 per multiply-add.
double PeakFlops(const MachineConfig& machine, bool mx);

}  // namespace bwmm::workloads
