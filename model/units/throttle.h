// The throttle of the array against jumps of its current (dI/dt): used less than half of a window,
// it runs at half rate for a window.
//
//   idle ...|-- slot x 2 --|-- slot x 2 --| .. one window ..|- slot -|- slot -| ..
//
// Kept in the sequencer, which gives every MultiplyMoving a slot and pushes the next one behind it;
// a slot is as long as its rows, or twice that. A window of 0 switches it off.
#pragma once

#include <algorithm>
#include <deque>

#include "model/units/tick.h"

namespace bwmm::units {

class Throttle {
 public:
  explicit Throttle(Tick window) : window_(window) {}

  // When the next MultiplyMoving may be pushed.
  Tick next() const { return slots_.empty() ? 0 : slots_.back().end; }

  // One whose rows take `ticks` is pushed.
  void Push(Tick now, Tick ticks) {
    if (window_ == 0)
      return;
    if (now >= half_until_ && 2 * UsedBefore(now) < window_)
      half_until_ = now + window_;
    slots_.push_back({now, now + (now < half_until_ ? 2 : 1) * ticks});
  }

 private:
  struct Slot {
    Tick begin, end;
  };

  // Of the window that ends now.
  Tick UsedBefore(Tick now) {
    const Tick from = now > window_ ? now - window_ : 0;
    while (!slots_.empty() && slots_.front().end <= from)
      slots_.pop_front();
    Tick used = 0;
    for (const Slot& slot : slots_)
      used += slot.end - std::max(slot.begin, from);
    return used;
  }

  const Tick window_;
  std::deque<Slot> slots_;
  Tick half_until_ = 0;
};

}  // namespace bwmm::units
