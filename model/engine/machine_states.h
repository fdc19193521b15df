// What the machine's engines did, as it becomes known, and as signals by time.
//
//   Started, Spent (late, unit by unit) --> [ starts | stretches ] --Changes--> one list by time
//
// The machine learns the reason of a wait only when it is over, so states are written when all are
// known.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bwmm::engine {

// Scopes of the waveform.
enum class TracedUnit : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync, kDma };
inline constexpr int kTracedUnits = 6;
inline constexpr std::array<std::string_view, kTracedUnits> kTracedUnitNames = {
    "tensor", "vector", "scalar", "gpsimd", "sync", "dma"};

struct UnitSignals {
  bool busy = false;
  std::uint32_t id = 0;      // of the instruction taken up last; 0 unless busy
  std::string opcode = {};   // empty unless busy
  std::string waiting = {};  // what for; empty while busy, and where nothing is known
};

struct UnitChange {
  std::uint64_t time_ps = 0;
  TracedUnit unit = TracedUnit::kTensor;
  UnitSignals signals;
};

class MachineStates {
 public:
  // The unit takes up an instruction. Ascending times for each unit.
  void Started(std::uint64_t time_ps, TracedUnit unit, std::uint32_t id, std::string_view opcode);
  // A stretch of time: busy when `waiting` is empty. Each begins where the unit's last one ended.
  void Spent(std::uint64_t from_ps, std::uint64_t to_ps, TracedUnit unit, std::string_view waiting);

  // All changes in [from, to), by time. A state that begins before `from` begins there.
  std::vector<UnitChange> Changes(std::uint64_t from_ps, std::uint64_t to_ps) const;

 private:
  struct Start {
    std::uint64_t time_ps;
    std::uint32_t id;
    std::string opcode;
  };
  struct Stretch {
    std::uint64_t from_ps, to_ps;
    std::string waiting;
  };
  struct Unit {
    std::vector<Start> starts;
    std::vector<Stretch> stretches;
  };

  static std::vector<UnitChange> ChangesOf(TracedUnit unit, const Unit& history);

  std::array<Unit, kTracedUnits> units_;
};

}  // namespace bwmm::engine
