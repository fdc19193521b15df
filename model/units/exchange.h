// Where cores meet: core_barrier and sendrecv.
//
//   core c GpSimd --Arrive--> [ barrier n ]           --Met, barrier latency later--> all GpSimds
//   core c DMA ----Arrive--> [ cores c and d,         --Met, sendrecv latency later--> both DMAs
//                                pipe p, use n ]                                          move
//                  --Sent-->                          --Exchanged--> both DMAs complete
//
// The n-th barrier of a core meets the n-th of all others; its n-th sendrecv with core d on a pipe
// meets the n-th of core d with it on that pipe. A single core passes a barrier alone.
#pragma once

#include <cstdint>
#include <map>
#include <systemc>
#include <tuple>
#include <utility>
#include <vector>

#include "model/ops/execute.h"
#include "model/ops/observers.h"
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
           std::vector<ops::CoreMemory*> memories, const ops::Observers& observers);

  sc_core::sc_vector<sc_core::sc_port<MeetIf>> gpsimd;  // one per core
  sc_core::sc_vector<sc_core::sc_port<MeetIf>> dma;

  void Arrive(Work& work) override;
  void Sent(Work& work) override;

  // The cores the work waits for here, ascending; for a deadlock report.
  std::vector<int> AbsentFrom(const Work& work) const;

 private:
  struct Meeting {
    std::vector<Work*> works;  // by core, once all are there
    int sent = 0;
  };
  // The two cores of a sendrecv (a barrier: kAllCores), its pipe, and its number among those.
  using Key = std::tuple<int, int, int, std::uint32_t>;

  static Key KeyOf(const Work& work);
  int PartiesOf(const Work& work) const;
  void TellMet(const std::vector<Work*>& works) const;

  const Config config_;
  RunState& run_;
  std::vector<ops::CoreMemory*> memories_;
  const ops::Observers& observers_;
  std::map<Key, Meeting> meetings_;
};

}  // namespace bwmm::units
