// The TensorEngine's sequencer: pushes LoadStationary and MultiplyMoving into the engine in program
// order and turns the engine's events into completions.
//
//   Accept --> [ queue ] --head, gate open, engine has room--> engine::TensorEngine
//                                                                 |  started, read done, written
//   RetireIf <-- at the next edge <-------------------------------+
//
// Edge c of the array is processed in the odd phase of cycle c; its events take effect at edge
// c + 1. Between events the engine is left alone: a cycle-by-cycle engine asks to be woken every
// cycle, the others only when something happens.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <utility>

#include "model/engine/tensor_engine.h"
#include "model/ops/execute.h"
#include "model/units/ledger.h"
#include "model/units/run_state.h"
#include "model/units/streams.h"
#include "model/units/throttle.h"

namespace bwmm::units {

class TensorUnit final : public sc_core::sc_module, public WorkIf {
 public:
  struct Config {
    Clock clock;
    Tick throttle_window = 0;
  };
  struct Stats {
    std::uint64_t moving_rows = 0;
    std::uint64_t multiply_adds = 0;  // transposes not counted
  };

  TensorUnit(sc_core::sc_module_name name, const Config& config, RunState& run,
             ops::CoreMemory& memory, engine::TensorEngine& engine);

  sc_core::sc_port<RetireIf> retire{"retire"};

  void Accept(Work& work) override;
  void GateOpened(Work& work, Gate gate) override;

  Ledger& ledger() { return ledger_; }
  const Stats& stats() const { return stats_; }

 private:
  void Step();
  void ProcessEdge();
  void DeliverDue();
  void PushDue();
  void Push(const isa::LoadStationary& instruction, std::uint32_t id);
  void Push(const isa::MultiplyMoving& instruction, std::uint32_t id);
  void AccountStart(Work& work, Tick edge);
  void ScheduleNext();
  Tick StartTime() const;
  Work& InEngine(std::uint32_t id);

  const Config config_;
  RunState& run_;
  ops::CoreMemory& memory_;
  engine::TensorEngine& engine_;
  std::deque<Work*> queue_;
  std::deque<Work*> in_engine_;        // pushed, not complete
  std::deque<engine::Event> pending_;  // read done and written, to take effect at the next edge
  int reading_ = 0;                    // commands between started and read done
  Throttle throttle_;
  Ledger ledger_;
  Stats stats_;
  Alarm alarm_{"step"};
};

}  // namespace bwmm::units
