// The observers of a run, each told of what it wants.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/ops/observer.h"

namespace bwmm::ops {

class Observers {
 public:
  Observers() = default;
  explicit Observers(std::span<Observer* const> observers)
      : all_(observers.begin(), observers.end()) {
    for (int event = 0; event < kEvents; ++event) {
      for (Observer* observer : all_) {
        if (observer->Wants(static_cast<Event>(event)))
          wanting_[event].push_back(observer);
      }
    }
  }

  bool Want(Event event) const { return !wanting_[static_cast<int>(event)].empty(); }

  void Begin(const Beginning& beginning) const {
    for (Observer* observer : all_)
      observer->Began(beginning);
  }
  // Calls `tell` with each observer that wants the event.
  template <typename F>
  void Tell(Event event, F&& tell) const {
    for (Observer* observer : wanting_[static_cast<int>(event)])
      tell(*observer);
  }

 private:
  std::vector<Observer*> all_;
  std::array<std::vector<Observer*>, kEvents> wanting_;
};

}  // namespace bwmm::ops
