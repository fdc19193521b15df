// Runs a kernel on the machine, one program per core, at one of three fidelities.
//
//   rtl     the Verilated TensorEngine and quantize_mx
//   fast    the same bits and cycles from C++
//   timing  the same cycles; tensor data is left alone, only indices and conditions are computed
//
// One call is one simulation with its own SystemC context: calls may follow each other in one
// process, but not overlap.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/engine/tensor_engine.h"
#include "model/ops/execute.h"
#include "model/ops/executor.h"
#include "model/ops/memory.h"
#include "model/ops/observer.h"
#include "model/system/machine_config.h"
#include "model/units/ledger.h"
#include "model/units/streams.h"

namespace bwmm {

enum class Fidelity : std::uint8_t { kRtl, kFast, kTiming };

std::string_view NameOf(Fidelity fidelity);
std::optional<Fidelity> ParseFidelity(std::string_view name);

using units::TimeClass;
using units::Unit;

// Cycles are TensorEngine clock cycles everywhere.
struct UnitResult {
  std::uint64_t instructions = 0;
  // One class per cycle; they sum to RunResult::cycles.
  std::array<std::uint64_t, units::kTimeClasses> cycles{};

  std::uint64_t busy() const { return cycles[static_cast<int>(TimeClass::kBusy)]; }
};

struct CoreResult {
  std::array<UnitResult, units::kUnits> units;
  std::uint64_t instructions = 0;
  std::uint64_t moving_rows = 0;    // rows that entered the PE array
  std::uint64_t multiply_adds = 0;  // without transposes
  std::uint64_t hbm_read = 0;       // bytes
  std::uint64_t hbm_write = 0;
  std::uint64_t sendrecv = 0;  // bytes sent
  std::uint64_t dma_descriptors = 0;
  std::uint64_t dma_transfers = 0;
  std::uint64_t dma_engine_cycles = 0;  // busy, summed over the DMA engines
};

struct RunResult {
  std::uint64_t cycles = 0;
  double seconds_modelled = 0;
  std::uint64_t instructions = 0;
  std::vector<CoreResult> cores;
  std::uint64_t hbm_read = 0;  // bytes that went through the HBM target, all cores
  std::uint64_t hbm_write = 0;
  std::uint64_t sendrecv = 0;
  std::uint64_t hbm_busy_cycles = 0;
};

struct RunOptions {
  std::vector<ops::Observer*> observers = {};  // told while the run lasts
  // Reads of unwritten bytes (not in timing) and races between the cores are refused.
  bool checked = true;
  std::uint32_t window = 65536;  // instructions in flight per core
  // For tests: builds the last core first, so that SystemC runs processes in another order.
  bool build_in_reverse = false;
  // Replaces the fidelity's TensorEngine, e.g. with one that dumps waves.
  std::function<std::unique_ptr<engine::TensorEngine>(int core, const engine::TensorEngineConfig&)>
      make_engine = {};
};

// SimError when the program, the configuration or an input is wrong, with the text of the place
// that found it; a deadlock is a SimError with the wait graph.
RunResult RunMachine(const MachineConfig& config, Fidelity fidelity, ops::Hbm& hbm,
                     const ops::Program& kernel, const RunOptions& options = {});

}  // namespace bwmm
