// The machine's time: integer ticks, an even number of them per clock period of every engine.
//
//   tick     0    1    2    3    4    5   ...      TensorEngine at 2.4 GHz, 4.8 ticks per ns
//            |    ^    |    ^    |    ^
//            |    |    |    +-- odd phase of cycle 1
//            |    +-- odd phase of cycle 0: the array's edge is processed, shared resources grant
//            +-- even phase: sequencers start and complete instructions
//
// Determinism: what happens in an even phase of one unit never reads what another unit decides in
// the same phase, except through times that are already fixed (when a dependency is visible, when
// an engine is free). Everything that has to choose between requesters waits for the odd phase,
// when all requests of the phase before are in, and chooses by core and instruction id. So the
// order in which SystemC runs processes at one time point cannot matter.
//
// One SystemC time unit (its smallest) is one tick.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <systemc>

#include "model/support/sim_error.h"

namespace bwmm::units {

using Tick = std::uint64_t;
inline constexpr Tick kNever = std::numeric_limits<Tick>::max();

inline Tick Now() {
  return sc_core::sc_time_stamp().value();
}
// The even phase an odd phase belongs to (an even phase is its own).
inline Tick EvenPhase() {
  return Now() & ~Tick{1};
}
constexpr Tick EvenUp(Tick tick) {
  return (tick + 1) & ~Tick{1};
}

// An event that fires at a tick; of several pending requests the earliest counts.
class Alarm {
 public:
  explicit Alarm(const char* name) : event_(name) {}
  void At(Tick tick) {
    const Tick now = Now();
    event_.notify(sc_core::sc_time::from_value(tick > now ? tick - now : 0));
  }
  const sc_core::sc_event& event() const { return event_; }

 private:
  sc_core::sc_event event_;
};

// A clock whose edges are at multiples of its period.
struct Clock {
  Tick period = 2;

  Tick EdgeAtOrAfter(Tick tick) const { return (tick + period - 1) / period * period; }
  Tick Cycles(std::int64_t cycles) const { return static_cast<Tick>(cycles) * period; }
};

class TimeBase {
 public:
  explicit TimeBase(std::span<const std::int64_t> clocks_mhz) {
    std::int64_t common = 1;
    for (const std::int64_t mhz : clocks_mhz) {
      common = std::lcm(common, mhz);
      if (common > kMaxMhz)
        throw SimError("machine.clock: least common multiple {} MHz, allowed at most {} MHz",
                       common, kMaxMhz);
    }
    ticks_per_us_ = 2 * static_cast<Tick>(common);
  }

  Tick ticks_per_us() const { return ticks_per_us_; }
  Clock ClockOf(std::int64_t mhz) const { return {ticks_per_us_ / static_cast<Tick>(mhz)}; }
  Tick FromNs(std::int64_t ns) const {
    return EvenUp((static_cast<Tick>(ns) * ticks_per_us_ + 999) / 1000);
  }
  // Time to move `bytes` at `mb_s` megabytes per second (bytes per microsecond).
  Tick FromBytes(std::int64_t bytes, std::int64_t mb_s) const {
    const auto rate = static_cast<Tick>(mb_s);
    return EvenUp((static_cast<Tick>(bytes) * ticks_per_us_ + rate - 1) / rate);
  }
  double Seconds(Tick ticks) const {
    return static_cast<double>(ticks) / (static_cast<double>(ticks_per_us_) * 1e6);
  }

 private:
  static constexpr std::int64_t kMaxMhz = 1'000'000'000;
  Tick ticks_per_us_ = 2;
};

}  // namespace bwmm::units
