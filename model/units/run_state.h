// How a run ends early: the first error stops everything, and kernels are unwound.
//
//   tick t     unit A fails   kernel B fails    everything else goes on
//   tick t+1   nobody does anything any more; waiting kernels unwind
//
// The order of processes within a tick is arbitrary, so the first failure of a tick must not win:
// the tick is ended, and of its failures the one of the lowest core, then of the lowest instruction
// is reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <systemc>
#include <tuple>
#include <utility>
#include <vector>

#include "model/isa/instruction.h"
#include "model/support/interrupt.h"
#include "model/units/stack_bounds.h"
#include "model/units/tick.h"

namespace bwmm::units {

// One per run.
class RunState {
 public:
  // Runs a method process of `unit`. A unit that has failed does not run again.
  template <typename F>
  void Guard(const sc_core::sc_module& unit, F&& function) {
    if (failed() || std::find(stopped_.begin(), stopped_.end(), &unit) != stopped_.end())
      return;
    OnOwnStack();
    doing_ = {};
    try {
      ThrowIfInterrupted();
      function();
    } catch (...) {
      stopped_.push_back(&unit);
      Fail(std::current_exception());
    }
  }
  // What follows is done for this instruction, until the next call.
  void Doing(const isa::Instruction& instruction) { Doing(instruction.core, instruction.id); }
  void Doing(int core, std::uint32_t id) { doing_ = {core, id}; }

  void Fail(std::exception_ptr error) {
    if (error_ && doing_ >= culprit_)
      return;
    if (!error_) {
      failed_at_ = Now();
      abort_event_.notify(sc_core::sc_time::from_value(1));
    }
    error_ = std::move(error);
    culprit_ = doing_;
  }
  // The tick of the first error is over.
  bool failed() const { return error_ && Now() > failed_at_; }
  std::exception_ptr error() const { return error_; }
  const sc_core::sc_event& abort_event() const { return abort_event_; }

 private:
  using Culprit = std::pair<int, std::uint32_t>;  // core, instruction id

  Culprit doing_;
  Culprit culprit_;
  Tick failed_at_ = 0;
  std::exception_ptr error_;
  std::vector<const sc_core::sc_module*> stopped_;
  sc_core::sc_event abort_event_{"abort"};
};

}  // namespace bwmm::units
