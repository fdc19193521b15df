// The Vector, Scalar, GpSimd and Sync engines: one in-order queue each.
//
//   Accept --> [ queue ] --head, gate open, engine free--> [ occupancy ] --> [ latency ] -->
//   Complete
//
// An activation of another function than the last waits for its table, which loads as soon as the
// activation is at the head of a free engine, with its operands there or not.
//
// GpSimd also writes the descriptors of gathers and scatters (and hands the DMA over afterwards),
// and stands still in a core_barrier until the exchange lets it go.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "model/ops/execute.h"
#include "model/units/cost_table.h"
#include "model/units/ledger.h"
#include "model/units/run_state.h"
#include "model/units/streams.h"

namespace bwmm::units {

class InOrderEngine final : public sc_core::sc_module, public WorkIf, public MeetIf {
 public:
  struct Config {
    Unit unit = Unit::kVector;
    Clock clock;
    CostTable costs;
    Tick activation_table = 0;   // what another activation function takes to load
    Tick hbm_register_load = 0;  // in addition, for a register_load from HBM
  };

  InOrderEngine(sc_core::sc_module_name name, const Config& config, RunState& run,
                ops::CoreMemory& memory);

  sc_core::sc_port<RetireIf> retire{"retire"};
  // GpSimd only.
  sc_core::sc_port<DescriptorsIf, 1, sc_core::SC_ZERO_OR_MORE_BOUND> descriptors{"descriptors"};
  sc_core::sc_port<MeetingIf, 1, sc_core::SC_ZERO_OR_MORE_BOUND> meeting{"meeting"};

  void Accept(Work& work) override;
  void GateOpened(Work& work, Gate gate) override;
  void Met(Work& work, Tick at) override;
  void Exchanged(Work& work, Tick at) override;

  Ledger& ledger() { return ledger_; }

 private:
  struct Running {
    Work* work = nullptr;
    Tick done_at = 0;
    bool hand_over = false;       // descriptors: the DMA unit completes the work
    std::vector<int> lanes = {};  // they move
  };

  void Step();
  void FinishDue();
  void StartDue();
  void Start(Work& work);
  Tick StartTime(const Work& work) const;
  bool LoadsTable(const Work& work) const;
  void ScheduleNext();

  const Config config_;
  RunState& run_;
  ops::CoreMemory& memory_;
  std::deque<Work*> queue_;
  std::deque<Running> running_;  // in program order: a result waits for those before it
  Tick free_at_ = 0;             // kNever in a barrier
  Tick head_at_ = 0;             // when the head of the queue became it
  Activation table_ = Activation::kIdentity;  // the function whose table is loaded
  Work* in_barrier_ = nullptr;
  Ledger ledger_;
  Alarm alarm_{"step"};
};

}  // namespace bwmm::units
