// Where the two cores meet: core_barrier and sendrecv.
//
//   core 0 GpSimd --Arrive--> [ barrier n ]      --Met, barrier latency later--> both GpSimds
//   core 0 DMA ----Arrive--> [ pipe p, use n ]   --Met, sendrecv latency later--> both DMAs move
//                  --Sent-->                      --Exchanged--> both DMAs complete
//
// The n-th barrier of one core meets the n-th of the other; the n-th sendrecv on a pipe meets the
// n-th on that pipe. A single core passes a barrier alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <systemc>
#include <utility>
#include <vector>

#include "model/ops/execute.h"
#include "model/units/run_state.h"
#include "model/units/streams.h"

namespace bwmm::units {

class Exchange final : public sc_core::sc_module, public MeetingIf {
 public:
  struct Config {
    int cores = 2;
    Tick barrier = 0;
    Tick sendrecv = 0;
  };

  Exchange(sc_core::sc_module_name name, const Config& config, RunState& run,
           std::vector<ops::CoreMemory*> memories);

  sc_core::sc_vector<sc_core::sc_port<MeetIf>> gpsimd;  // one per core
  sc_core::sc_vector<sc_core::sc_port<MeetIf>> dma;

  void Arrive(Work& work) override;
  void Sent(Work& work) override;

  // True while the work waits here for the other core; for a deadlock report.
  bool WaitsForPeer(const Work& work) const;

 private:
  struct Meeting {
    std::array<Work*, 2> works{};
    int arrived = 0;
    int sent = 0;
  };
  // Barriers use pipe kBarrierPipe.
  using Key = std::pair<std::int64_t, std::uint32_t>;

  static Key KeyOf(const Work& work);

  const Config config_;
  RunState& run_;
  std::vector<ops::CoreMemory*> memories_;
  std::map<Key, Meeting> meetings_;
};

}  // namespace bwmm::units
