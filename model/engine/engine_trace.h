// The waveform of one core: the RTL TensorEngine's probe and the state of the machine's engines in
// one FST.
//
//   machine --Started, Spent--> [ states by time ] --+
//                                                    +--> Close: merged, time in picoseconds
//   RTL engine, edge by edge --> [ dump of its own ]-+
//
// The machine owns the clock domains, so it states what an engine does at a time of its own; the
// engine's edges are at cycle * cycle_ps.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "model/engine/machine_states.h"
#include "model/engine/tensor_engine.h"

namespace bwmm::engine {

struct TraceOptions {
  std::string path;  // FST file: appears when it is complete
  int row = 0;       // the PE whose operands and sums are shown, with its group and column
  int col = 0;
  Cycle from = 0;  // TensorEngine cycles dumped: from <= cycle < to
  Cycle to = std::numeric_limits<Cycle>::max();
  double cycle_ps = 1e6 / 2400;  // TensorEngine clock period
  // Told why when the destructor cannot finish the file, for it cannot throw.
  std::function<void(const std::string& reason)> failed = {};
};

class EngineTrace {
 public:
  virtual ~EngineTrace() = default;

  // What the machine's engines do; as in MachineStates.
  virtual MachineStates& machine() = 0;
  // Writes everything known and finishes the file; the engine runs on untraced. SimError when the
  // file cannot be written; then there is none. The destructor does the same.
  virtual void Close() = 0;
};

struct TracedTensorEngine {
  std::unique_ptr<TensorEngine> engine;
  EngineTrace* trace = nullptr;  // lives in the engine
};

// The 128x128 RTL engine with its probe. Same bits and cycles as MakeRtlTensorEngine. Throws
// SimError for a probe outside the array and when the file cannot be written.
TracedTensorEngine MakeTracedRtlTensorEngine(const TensorEngineConfig& config,
                                             const TraceOptions& options);

}  // namespace bwmm::engine
