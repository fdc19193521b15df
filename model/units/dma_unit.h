// The DMA of one core: descriptor generators, 16 engines with 16 queues each, one TLM socket to
// HBM.
//
//   gate open --> [ generator ] --start--> parts --k * skew--> [ engine k: queues, in turns ]
//   GpSimd wrote descriptors, data gate open --^                  |       |
//   both ends at a sendrecv, link latency -----^              HBM socket |
//   RetireIf <-- completion after the last byte <-- HBM latency <---------+
//
// The ScalarEngine's DMAs have one descriptor generator, all others the other. A queue belongs to
// the sequencer that triggers and to loads, stores or the rest, first in, first out; an engine
// serves its queues round robin, one turn of `turn_bytes` each, the lowest class first. Nothing
// else holds a DMA back: independent DMAs overtake each other. An engine is busy with a turn for
//   max((bytes + descriptors * descriptor_bytes) / rate, what HBM takes for it).
// All choices are made in the odd phase, in (time, instruction id) order.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <queue>
#include <systemc>
#include <tlm>
#include <tuple>
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
    int queues = 16;
    std::int64_t turn_bytes = 16384;
    int gather_class = 1;  // of gathers and scatters; all others have class 1
    int dge_instances = 2;
    Tick dge = 0;
    Tick start = 0;
    std::int64_t skew_ns = 0;  // from one engine of a transfer to the next
    Tick hbm_latency = 0;
    Tick completion = 0;
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
  void DescriptorsWritten(Work& work, std::vector<int> lanes) override;
  void Met(Work& work, Tick at) override;
  void Exchanged(Work& work, Tick at) override;

  Ledger& ledger() { return ledger_; }
  const Stats& stats() const { return stats_; }

 private:
  struct Transfer {
    Work* work = nullptr;
    std::vector<int> lanes = {};   // a gather or scatter moves
    Tick descriptors_at = kNever;  // software descriptors
    int turns_left = 0;
    bool started = false;
    Tick end = 0;
  };
  struct Place {
    int service_class = 1;
    int queue = 0;

    friend bool operator==(const Place&, const Place&) = default;
  };
  // A part in front of an engine.
  struct QueuedPart {
    Transfer* transfer = nullptr;
    DmaPart part;
    Place place;
    Tick ready_at = 0;  // engines of a transfer start one after another
    std::int64_t turns = 1;
    std::int64_t turn = 0;  // the next one
  };
  struct Engine {
    std::vector<QueuedPart> waiting;  // in all queues, as they arrived
    int served = -1;                  // queue of the last turn
    Tick free_at = 0;
  };
  // (when, instruction id, transfer): earliest first, then program order.
  using Timed = std::tuple<Tick, std::uint32_t, Transfer*>;
  using TimedQueue = std::priority_queue<Timed, std::vector<Timed>, std::greater<>>;

  void Grant(Tick now);
  void GrantGenerators(Tick now);
  void Arrive(Transfer& transfer, Tick now);
  Place PlaceOf(const isa::Instruction& instruction) const;
  // The part whose turn it is, if one may start.
  static std::vector<QueuedPart>::iterator NextOf(Engine& engine, Tick now);
  bool StartTurn(Engine& engine, Tick now);
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
  std::vector<TimedQueue> ready_;  // for a descriptor generator each
  TimedQueue for_peer_;
  TimedQueue arrivals_;  // at the engines
  TimedQueue ends_;
  std::vector<Tick> generator_free_at_;
  std::vector<Engine> engines_;
  std::int64_t waiting_parts_ = 0;  // in the queues of all engines
  Ledger ledger_;
  Stats stats_;
  Alarm alarm_{"finish"};
};

}  // namespace bwmm::units
