// Where an engine's time goes: every tick belongs to exactly one class, and the classes sum to the
// total.
//
//   end of the last work     emitted        gate opens       start            end
//   ---------|-- control ------|-- dependency ---|-- structural --|---- busy ----|
//
// The gap in front of an instruction is cut at the times its obstacles went away; a dependency's
// class is the unit of the last one to become visible. After the last instruction an engine is
// idle.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "model/isa/time_class.h"
#include "model/units/tick.h"

namespace bwmm::units {

using isa::kTimeClasses;
using isa::NameOf;
using isa::TimeClass;

// The obstacles in front of one piece of work, in the order they went away.
struct Obstacles {
  Tick emitted_at = 0;
  Tick open_at = 0;
  TimeClass cause = TimeClass::kStructural;
};

class Ledger {
 public:
  // Accounts the time up to `start` to what kept the engine from starting. Answers the class that
  // took most of it (kBusy when there was no gap).
  TimeClass Gap(Tick start, const Obstacles& obstacles) {
    const std::array<std::pair<Tick, TimeClass>, 3> cuts = {
        {{std::min(obstacles.emitted_at, start), TimeClass::kControl},
         {std::min(obstacles.open_at, start), obstacles.cause},
         {start, TimeClass::kStructural}}};
    TimeClass longest = TimeClass::kBusy;
    Tick most = 0;
    for (const auto& [cut, time_class] : cuts) {
      const Tick ticks = cut > until_ ? cut - until_ : 0;
      if (ticks > most) {
        most = ticks;
        longest = time_class;
      }
      Until(cut, time_class);
    }
    return longest;
  }
  // Accounts everything not accounted yet, up to `end`.
  void Until(Tick end, TimeClass time_class) {
    if (end <= until_)
      return;
    if (observer_)
      observer_(until_, end, time_class);
    ticks_[static_cast<int>(time_class)] += end - until_;
    until_ = end;
  }

  // Told of every stretch when it is accounted: they follow each other without a hole.
  using Observer = std::function<void(Tick from, Tick to, TimeClass time_class)>;
  void Observe(Observer observer) { observer_ = std::move(observer); }

  Tick until() const { return until_; }
  Tick ticks(TimeClass time_class) const { return ticks_[static_cast<int>(time_class)]; }

 private:
  Tick until_ = 0;
  std::array<Tick, kTimeClasses> ticks_{};
  Observer observer_;
};

}  // namespace bwmm::units
