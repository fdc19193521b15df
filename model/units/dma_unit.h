// The DMA of one core: descriptor generators, 16 engines, one TLM socket to HBM.
//
//   gate open --> [ DGE 0 | DGE 1 ] --start latency--> parts --> [ engine 0..15, one FIFO each ]
//   GpSimd wrote descriptors, data gate open --start--^                 |       |
//   both ends at a sendrecv, link latency ------------^              HBM socket |
//   RetireIf <-- when the last part has been moved, HBM latency later <---------+
//
// Nothing but its dependencies, a free descriptor generator and its engines' FIFOs holds a DMA
// back: independent DMAs overtake each other. An engine is busy with a part for
//   max((bytes + descriptors * descriptor_bytes) / rate, what HBM takes for it).
// All choices are made in the odd phase, in (time, instruction id) order.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <deque>
#include <queue>
#include <systemc>
#include <tlm>
#include <unordered_map>
#include <vector>

#include "model/ops/execute.h"
#include "model/units/dma_plan.h"
#include "model/units/ledger.h"
#include "model/units/phase_arbiter.h"
#include "model/units/run_state.h"
#include "model/units/streams.h"

namespace bwmm::units {

class DmaUnit final : public sc_core::sc_module,
                      public WorkIf,
                      public DescriptorsIf,
                      public MeetIf {
 public:
  struct Config {
    int core = 0;
    DmaShape shape;
    std::int64_t engine_mb_s = 33'000;
    std::int64_t descriptor_bytes = 64;
    int dge_instances = 2;
    Tick dge = 0;
    Tick start = 0;
    Tick hbm_latency = 0;
  };
  struct Stats {
    std::uint64_t hbm_read = 0;
    std::uint64_t hbm_write = 0;
    std::uint64_t sendrecv = 0;  // bytes this core sent
    std::uint64_t descriptors = 0;
    std::uint64_t transfers = 0;
    Tick engine_ticks = 0;  // summed over the engines
  };

  DmaUnit(sc_core::sc_module_name name, const Config& config, const TimeBase& time, RunState& run,
          PhaseArbiter& arbiter, ops::CoreMemory& memory);

  tlm_utils::simple_initiator_socket<DmaUnit> hbm_socket{"hbm_socket"};
  sc_core::sc_port<RetireIf> retire{"retire"};
  sc_core::sc_port<MeetingIf> meeting{"meeting"};

  void Accept(Work& work) override;
  void GateOpened(Work& work, Gate gate) override;
  void DescriptorsWritten(Work& work, std::int64_t rows_moved) override;
  void Met(Work& work, Tick at) override;
  void Exchanged(Work& work, Tick at) override;

  Ledger& ledger() { return ledger_; }
  const Stats& stats() const { return stats_; }

 private:
  struct Transfer {
    Work* work = nullptr;
    std::int64_t rows_moved = 0;
    Tick descriptors_at = kNever;  // software descriptors
    int parts_left = 0;
    bool started = false;
    Tick end = 0;
  };
  struct QueuedPart {
    Transfer* transfer = nullptr;
    DmaPart part;
  };
  struct Engine {
    std::deque<QueuedPart> fifo;
    Tick free_at = 0;
  };
  // (when, instruction id, transfer): earliest first, then program order.
  using Timed = std::tuple<Tick, std::uint32_t, Transfer*>;
  using TimedQueue = std::priority_queue<Timed, std::vector<Timed>, std::greater<>>;

  void Grant(Tick now);
  void GrantGenerators(Tick now);
  void Arrive(Transfer& transfer, Tick now);
  void StartPart(Engine& engine, Tick now);
  void TellStarted(Transfer& transfer);
  Tick MoveThroughHbm(Work& work, tlm::tlm_command command, std::uint64_t address,
                      std::int64_t bytes);
  void ScheduleArrival(Transfer& transfer, Tick at);
  void ScheduleEnd(Transfer& transfer);
  void FinishDue();
  void Finish(Transfer& transfer);
  Obstacles ObstaclesOf(const Transfer& transfer) const;

  const Config config_;
  const TimeBase time_;
  RunState& run_;
  PhaseArbiter& arbiter_;
  ops::CoreMemory& memory_;  // index tensors only: what a skipped copy does not move
  std::unordered_map<const Work*, Transfer> transfers_;
  TimedQueue ready_;     // for a descriptor generator, or for the peer
  TimedQueue arrivals_;  // at the engines
  TimedQueue ends_;
  std::vector<Tick> generator_free_at_;
  std::vector<Engine> engines_;
  std::int64_t waiting_parts_ = 0;  // in the FIFOs of all engines
  Ledger ledger_;
  Stats stats_;
  Alarm alarm_{"finish"};
};

}  // namespace bwmm::units
