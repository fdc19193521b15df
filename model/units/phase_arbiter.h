// Runs the grants of shared resources in the odd phase, core by core.
//
// A unit that shares something with the other cores (HBM, meetings) or between its own instructions
// (descriptor generators, DMA engines) collects requests in the even phase and decides in Grant.
// Grants of one phase run in the order of the cores.
#pragma once

#include <functional>
#include <queue>
#include <systemc>
#include <utility>
#include <vector>

#include "model/units/run_state.h"
#include "model/units/tick.h"

namespace bwmm::units {

class PhaseArbiter final : public sc_core::sc_module {
 public:
  using Grant = std::function<void(Tick even_phase)>;

  PhaseArbiter(sc_core::sc_module_name name, RunState& run) : sc_module(name), run_(run) {
    SC_HAS_PROCESS(PhaseArbiter);
    SC_METHOD(Run);
    sensitive << alarm_.event();
    dont_initialize();
  }

  void Add(int core, Grant grant) {
    if (grants_.size() <= static_cast<std::size_t>(core))
      grants_.resize(core + 1);
    grants_[core] = std::move(grant);
  }
  // Asks for a grant in the odd phase after the even phase `tick`.
  void RequestAt(int core, Tick tick) {
    requests_.emplace(EvenUp(tick), core);
    alarm_.At(requests_.top().first + 1);
  }

 private:
  void Run() {
    run_.Guard(*this, [&] {
      while (!requests_.empty() && requests_.top().first < Now()) {
        const auto request = requests_.top();
        while (!requests_.empty() && requests_.top() == request)
          requests_.pop();
        grants_[request.second](request.first);
      }
      if (!requests_.empty())
        alarm_.At(requests_.top().first + 1);
    });
  }

  RunState& run_;
  std::vector<Grant> grants_;
  std::priority_queue<std::pair<Tick, int>, std::vector<std::pair<Tick, int>>, std::greater<>>
      requests_;
  Alarm alarm_{"grant"};
};

}  // namespace bwmm::units
