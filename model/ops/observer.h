// What happens in a run, for whoever wants to know: listing, records, progress, waves, timelines.
//
//   kernel --Emitted, DependsOn--> unit --Started, PartMoved--> --Completed-->     any core
//      \--Allocated, Freed           \--Counted, Spent (the unit's time, class by class)
//
// An observer may look at everything and change nothing: what it gets is read-only, and no result
// depends on whether anybody listens. It may end the run by throwing. The executor has no time and
// gives Emitted, Reading, Completed, Allocated and Freed alone. Checkers are no observers: they
// refuse programs, before anybody is told. docs/observers.md has the order of events.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/isa/hazard_tracker.h"
#include "model/isa/time_class.h"
#include "model/isa/unit.h"
#include "model/ops/execute.h"

namespace bwmm::ops {

// Times are ticks; how long one lasts depends on the machine's clocks.
using Ticks = std::uint64_t;

struct RunClock {
  Ticks ticks_per_us = 0;  // 0: the run has no time
  Ticks ticks_per_cycle = 1;

  double Seconds(Ticks ticks) const {
    return static_cast<double>(ticks) / (static_cast<double>(ticks_per_us) * 1e6);
  }
  // Of the TensorEngine, rounded down.
  std::uint64_t Cycles(Ticks ticks) const { return ticks / ticks_per_cycle; }
};

// A core's memories, to look at.
class MemoryView {
 public:
  explicit MemoryView(const CoreMemory& memory) : memory_(memory) {}
  const Sbuf& sbuf() const { return memory_.sbuf; }
  const PsumPort& psum() const { return memory_.psum; }

 private:
  const CoreMemory& memory_;
};

struct Beginning {
  int cores = 0;
  RunClock clock;
};

struct Emission {
  const isa::Instruction& instruction;
  isa::Unit unit;  // that will complete it
  Ticks at = 0;
};

enum class Cause : std::uint8_t {
  kReadAfterWrite,
  kWriteAfterRead,
  kWriteAfterWrite,
  kRegister,  // the program waited for a register_load before it went on
  kMeeting,   // neither is over before the other has come
};

constexpr std::string_view NameOf(Cause cause) {
  constexpr std::string_view kNames[] = {"read after write", "write after read",
                                         "write after write", "register", "meeting"};
  return kNames[static_cast<int>(cause)];
}

// An instruction waits for another one: an edge of the program's graph.
struct Dependence {
  int core = 0;
  std::uint32_t id = 0;  // what waits
  int on_core = 0;
  std::uint32_t on = 0;  // for what
  Cause cause = Cause::kReadAfterWrite;
  isa::Gate gate = isa::Gate::kStart;
  bool semaphore = false;  // crosses units, so that it is seen a semaphore's latency later
  Ticks at = 0;            // when it became known

  friend bool operator==(const Dependence&, const Dependence&) = default;
};

struct Reading {
  const isa::Instruction& instruction;
  MemoryView memory;
  Ticks at = 0;
};

struct Start {
  const isa::Instruction& instruction;
  isa::Unit unit;                                // that takes it up
  isa::TimeClass stall = isa::TimeClass::kBusy;  // what the unit waited for longest before
  Ticks at = 0;
};

struct MovedPart {
  int core = 0;
  std::uint32_t id = 0;
  int engine = 0;  // of the core's DMA engines
  std::int64_t bytes = 0;
  std::int64_t descriptors = 0;
  std::int64_t hbm_read = 0, hbm_write = 0;
  Ticks from = 0, to = 0;  // the engine is busy with it
};

struct Completion {
  const isa::Instruction& instruction;
  isa::Unit unit;
  isa::TimeClass stall = isa::TimeClass::kBusy;
  Ticks start = 0;  // its gates were open and its unit began with it
  Ticks at = 0;
  MemoryView memory;
};

// A tile takes bytes of every partition of SBUF or PSUM, or gives them back.
struct Allocation {
  int core = 0;
  isa::Memory memory = isa::Memory::kSbuf;
  std::uint64_t begin = 0, bytes = 0;
  std::string_view name = {};  // empty: freed
  std::uint32_t position = 0;  // in the program: instructions emitted before
  Ticks at = 0;
};

// A named value from `at` on: "<unit>.queue", instructions waiting in front of a unit; "dma.parts",
// parts waiting in front of the DMA engines; "in_flight", instructions emitted and not complete.
struct Count {
  int core = 0;
  std::string_view name;
  std::int64_t value = 0;
  Ticks at = 0;
};

// A unit's time in one class. Those of a unit follow each other without a hole and add up to its
// classes in the result; a wait is told when it is over.
struct Spending {
  int core = 0;
  isa::Unit unit = isa::Unit::kTensor;
  isa::TimeClass time_class = isa::TimeClass::kBusy;
  Ticks from = 0, to = 0;
};

enum class Event : std::uint8_t {
  kEmitted,
  kDependsOn,
  kReading,
  kStarted,
  kPartMoved,
  kCompleted,
  kAllocated,
  kCounted,
  kSpent
};
inline constexpr int kEvents = 9;

class Observer {
 public:
  virtual ~Observer() = default;

  // What it is told of, asked once before the run. What nobody wants costs nothing.
  virtual bool Wants(Event) const { return true; }

  virtual void Began(const Beginning&) {}
  virtual void Emitted(const Emission&) {}
  virtual void DependsOn(const Dependence&) {}
  // Operands are about to be read.
  virtual void ReadsOperands(const Reading&) {}
  virtual void Started(const Start&) {}
  // GpSimd begins to write the descriptors of a gather or scatter, which starts later.
  virtual void DescriptorsStarted(const Start&) {}
  virtual void PartMoved(const MovedPart&) {}
  // Results are in memory.
  virtual void Completed(const Completion&) {}
  virtual void Allocated(const Allocation&) {}
  virtual void Freed(const Allocation&) {}
  virtual void Counted(const Count&) {}
  virtual void Spent(const Spending&) {}
};

}  // namespace bwmm::ops
