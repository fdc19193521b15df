// The waveform of one core: the RTL TensorEngine's probe and the state of the machine's engines in
// one FST.
//
//   machine --SetMachineState--> [ changes by time ] --+--> dump, time in picoseconds
//   RTL engine, edge by edge --------------------------+
//
// The machine owns the clock domains, so it states what an engine does at a time of its own; the
// engine's edges are at cycle * cycle_ps. A change that comes too late for its time (the engine has
// dumped past it) shows at the next possible time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "model/engine/tensor_engine.h"

namespace bwmm::engine {

struct TraceOptions {
  std::string path;  // FST file
  int row = 0;       // the PE whose operands and sums are shown, with its group and column
  int col = 0;
  Cycle from = 0;  // TensorEngine cycles dumped: from <= cycle < to
  Cycle to = std::numeric_limits<Cycle>::max();
  double cycle_ps = 1e6 / 2400;  // TensorEngine clock period
};

// Scopes of the waveform, in the order of traced_engine.sv.
enum class TracedUnit : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync, kDma };

class EngineTrace {
 public:
  virtual ~EngineTrace() = default;

  // From `time_ps` on, the unit works on instruction `id`. Texts are cut to 16 characters; `stall`
  // is empty while the unit is busy or idle.
  virtual void SetMachineState(std::uint64_t time_ps, TracedUnit unit, std::uint32_t id,
                               std::string_view opcode, std::string_view stall) = 0;
  // Writes everything known so far and finishes the file; the engine runs on untraced. The
  // destructor does the same.
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
