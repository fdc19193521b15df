// Options every subcommand that runs the machine has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/system/machine.h"

namespace bwmm::app {

struct CommonOptions {
  std::string fidelity = "fast";
  std::string machine = "trn3";
  std::vector<std::string> settings;  // key=value
  std::string json;
  std::string listing;
  std::string wave;
  std::string probe = "0,0";  // PE row, column
  std::string wave_window;    // "from:to", TensorEngine cycles
  std::uint64_t seed = 1;
};

struct KeyValue {
  std::string key, value;
};

// SimError unless the text is key=value with both parts.
KeyValue SplitSetting(const std::string& text);

Fidelity FidelityOf(const CommonOptions& options);
// The preset or file with the `machine.` settings applied.
MachineConfig MachineOf(const CommonOptions& options);
// Listing, progress on a terminal, wave dump.
RunOptions RunOptionsOf(const CommonOptions& options, const MachineConfig& machine,
                        std::uint64_t instructions);

}  // namespace bwmm::app
