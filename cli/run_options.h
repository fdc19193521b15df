// Options every subcommand that runs the machine has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "model/system/machine.h"

namespace bwmm::cli {

// What --probe is where it is not given.
inline constexpr const char* kDefaultProbe = "0,0";

struct CommonOptions {
  std::string fidelity = "fast";
  std::string machine = "trn3";
  std::vector<std::string> settings;  // key=value
  std::string json;
  std::string listing;
  std::string wave;
  std::string probe;        // PE row,column; empty when not given
  std::string wave_window;  // "from:to", TensorEngine cycles
  std::uint64_t seed = 1;
  bool unchecked = false;                // no race checker, no check for unwritten bytes
  std::vector<std::string> arguments;    // of the command line, for the report
  std::string* captured_json = nullptr;  // the JSON report goes here, nothing to stdout
};

// SimError unless the text is key=value with both parts.
KeyValue SplitSetting(const std::string& text);

// The files every subcommand may write.
std::vector<NamedFile> CommonOutputs(const CommonOptions& options);
// SimError when an option has no effect beside the others, or an output file cannot be written or
// is an input or another output. `tensors` are the subcommand's own outputs, `inputs` what it reads
// beside the machine, `placed` outputs whose places can be written.
void CheckOptions(const CommonOptions& options, const std::vector<NamedFile>& tensors,
                  std::vector<NamedFile> inputs, const std::vector<NamedFile>& placed = {});

Fidelity FidelityOf(const CommonOptions& options);
// The preset or file with the `machine.` settings applied.
MachineConfig MachineOf(const CommonOptions& options);
// Runs on the machine with listing, progress on a terminal and wave dump, each written to the end.
// `run` may hold observers already.
RunResult RunOnMachine(const CommonOptions& options, const MachineConfig& machine, ops::Hbm& hbm,
                       const ops::Program& program, std::uint64_t instructions,
                       RunOptions run = {});

}  // namespace bwmm::cli
