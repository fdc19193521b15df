// What units send each other: work in flight, and the interfaces it travels through.
//
//   kernel --> issue stage --WorkIf--> tensor, vector, scalar, gpsimd, sync, dma
//                   ^                      |
//                   +------RetireIf--------+          gpsimd, dma <--MeetingIf--> exchange
//
// One Work object per instruction, owned by the issue stage from Emit until it has completed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <systemc>
#include <vector>

#include "model/isa/unit.h"
#include "model/units/dma_plan.h"
#include "model/units/ledger.h"
#include "model/units/tick.h"

namespace bwmm::units {

using isa::Gate;
using isa::kUnits;
using isa::NameOf;
using isa::Unit;

constexpr TimeClass WaitFor(Unit unit) {
  return static_cast<TimeClass>(static_cast<int>(TimeClass::kTensor) + static_cast<int>(unit));
}

struct GateState {
  std::uint32_t waiting = 0;  // dependencies not yet met
  Tick open_at = 0;           // when the last one met is visible
  TimeClass cause = TimeClass::kStructural;

  // One dependency is visible from `at` on. Of several at one tick the last class in the order of
  // TimeClass is the cause, whichever is met first.
  void Open(Tick at, TimeClass because) {
    if (at < open_at || (at == open_at && because < cause))
      return;
    open_at = at;
    cause = because;
  }
};

struct Work;

struct Dependent {
  Work* work = nullptr;
  Gate gate = Gate::kStart;
  bool until_read = false;  // write after read: met when the operands have been read
};

struct Work {
  isa::Instruction instruction;
  Unit unit = Unit::kTensor;
  std::uint32_t meeting = 0;  // place among those with its peer on its pipe, or among all barriers
  bool software_descriptors = false;
  bool read_done = false;
  bool completed = false;
  std::array<GateState, 2> gates;
  std::vector<Dependent> dependents;
  Tick emitted_at = 0;
  Tick start = 0;
  Tick read_done_at = 0;
  Tick completed_at = 0;
  TimeClass stall = TimeClass::kBusy;  // what its unit waited for longest before it

  GateState& gate(Gate g) { return gates[static_cast<int>(g)]; }
  const GateState& gate(Gate g) const { return gates[static_cast<int>(g)]; }
  // When the gate opens; kNever while dependencies are open.
  Tick OpenAt(Gate g) const { return gate(g).waiting == 0 ? gate(g).open_at : kNever; }
  Obstacles obstacles(Gate g) const { return {emitted_at, gate(g).open_at, gate(g).cause}; }
};

// Whether `work` sees what it waits for by a semaphore, not by its place in a queue.
inline bool CrossesUnits(const Work& earlier, const Work& work, Gate gate) {
  const Unit waiting =
      work.software_descriptors && gate == Gate::kStart ? Unit::kGpSimd : work.unit;
  return earlier.unit != waiting || waiting == Unit::kDma;
}

// A unit's input: work in program order, and news about its gates.
class WorkIf : public virtual sc_core::sc_interface {
 public:
  virtual void Accept(Work& work) = 0;
  // The gate's last dependency was met; it opens at work.OpenAt(gate), now or later.
  virtual void GateOpened(Work& work, Gate gate) = 0;
};

// A unit's output.
class RetireIf : public virtual sc_core::sc_interface {
 public:
  // The unit has taken the work up: work.start and work.stall are known. For observers; it may be
  // called after work.start.
  virtual void Started(const Work& work) = 0;
  // GpSimd begins to write the descriptors of a gather or scatter. For observers.
  virtual void DescriptorsStarted(const Work&) {}
  // A DMA engine takes up a part of the work, now, and is busy with it until then. For observers.
  virtual void PartMoved(const Work&, const DmaPart&, Tick /*until*/) {}
  // So many parts wait in front of the DMA engines, from now on. For observers.
  virtual void PartsWaiting(std::int64_t /*parts*/) {}
  // The others are called in the even phase in which they take effect.
  // Operands are about to be read: checkers look now.
  virtual void Observe(const Work& work) = 0;
  // Operands have been read and may be overwritten.
  virtual void ReadDone(Work& work) = 0;
  // Results are in memory once this returns: it executes whatever the unit has not done itself.
  virtual void Complete(Work& work) = 0;
};

// Software descriptor generation: GpSimd hands the DMA over when its descriptors are written.
class DescriptorsIf : public virtual sc_core::sc_interface {
 public:
  // `lanes`: the rows that are moved.
  virtual void DescriptorsWritten(Work& work, std::vector<int> lanes) = 0;
};

// Meetings of cores, seen from a core: arrive, and be told when all are there.
class MeetingIf : public virtual sc_core::sc_interface {
 public:
  virtual void Arrive(Work& work) = 0;
  // The outgoing half of a sendrecv has been moved.
  virtual void Sent(Work& work) = 0;
};

// Meetings, seen from the exchange.
class MeetIf : public virtual sc_core::sc_interface {
 public:
  // All cores are there. A barrier is over at `at`; a sendrecv starts moving then.
  virtual void Met(Work& work, Tick at) = 0;
  // Both halves of a sendrecv have been moved; it is over at `at`.
  virtual void Exchanged(Work& work, Tick at) = 0;
};

}  // namespace bwmm::units
