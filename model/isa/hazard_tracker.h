// Finds what an instruction must wait for: read after write, write after read and write after
// write, by address, in program order.
//
//   HBM, and each 32-partition quadrant of SBUF and PSUM, is a map of disjoint byte intervals:
//
//     [0, 256)  writers {12: partitions 0..31}   readers {15: 0..31, 17: 0..3}
//     [256, 512) ...
//
// Accesses with gaps stand beside the map, found by their boxes and compared run by run, so that
// one slice of columns does not wait for another.
//
// A write replaces what it covers: a later access that would conflict with the covered record
// conflicts with the write too, and the write waits for it. What it covers in part stays. Engines
// that complete in order also let a later read replace an earlier one, and need no waiting between
// their own reads and writes:
//
//                    writes after reads/writes of the same engine     reads after writes
//   Vector, Scalar, GpSimd, Sync   in order, no wait                  wait (no forwarding)
//   TensorEngine                   in order, no wait                  accumulation: no wait
//   DMA                            wait                               wait
//
// No time here.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <vector>

#include "model/isa/access.h"
#include "model/isa/region_index.h"
#include "model/isa/unit.h"

namespace bwmm::isa {

enum class Hazard : std::uint8_t { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };

struct Dependency {
  std::uint32_t id = 0;     // the earlier instruction
  bool until_read = false;  // its reads are enough; otherwise its completion
  Gate gate = Gate::kStart;
  Hazard hazard = Hazard::kReadAfterWrite;  // of several, one that asks for completion
};

class HazardTracker {
 public:
  // Records the accesses of one instruction and appends what it depends on, each earlier
  // instruction at most once per gate. Index accesses belong to the start gate, the others to
  // `data_gate`.
  void Add(std::uint32_t id, Unit unit, bool tensor_load, const std::vector<Access>& accesses,
           Gate data_gate, std::vector<Dependency>& dependencies);

  // Instructions below `id` are over and constrain nobody.
  void Forget(std::uint32_t id) { oldest_ = id; }

 private:
  // Streams whose reads (or completions) happen in program order.
  enum class Order : std::uint8_t {
    kTensorLoad,
    kTensorMove,
    kVector,
    kScalar,
    kGpSimd,
    kSync,
    kNone
  };
  struct Who {
    std::uint32_t id = 0;
    Order order = Order::kNone;
  };
  struct Record : Who {
    std::uint32_t partitions = 0;  // of the quadrant, one bit each
  };
  static constexpr int kQuadrants = 4;
  static constexpr int kQuadrantRows = 32;
  using Partitions = std::bitset<kQuadrants * kQuadrantRows>;
  // An access with gaps.
  struct GapRecord : Who {
    Partitions partitions;
  };
  struct Interval {
    std::uint64_t end = 0;
    std::vector<Record> writers;
    std::vector<Record> readers;
  };
  using Intervals = std::map<std::uint64_t, Interval>;  // by begin
  // HBM has one partition.
  struct Space {
    std::array<Intervals, kQuadrants> dense;
    RegionIndex<GapRecord> writers;
    RegionIndex<GapRecord> readers;
  };

  static Order OrderOf(Unit unit, bool tensor_load);
  void Visit(const Access& access, const Who& who, Gate gate);
  void VisitDense(Intervals& intervals, std::uint64_t begin, std::uint64_t end,
                  const Record& record, bool write, Gate gate);
  // An access with gaps meets whole intervals.
  void CompareDense(Intervals& intervals, const Region& region, const Record& record, bool write,
                    Gate gate);
  // Any access meets those with gaps.
  void CompareGaps(RegionIndex<GapRecord>& index, const Region& region, const GapRecord& record,
                   bool write, Hazard hazard, Gate gate);
  void Read(Interval& interval, const Record& record, Gate gate);
  void Write(Interval& interval, const Record& record, Gate gate);
  // Makes [begin, end) a whole number of intervals and answers the first of them.
  Intervals::iterator Cut(Intervals& intervals, std::uint64_t begin, std::uint64_t end);
  void Depend(const Who& on, const Who& by, Hazard hazard, Gate gate);
  void Drop(std::vector<Record>& records) const;

  std::array<Space, 3> spaces_;  // by memory
  std::uint32_t oldest_ = 0;
  std::vector<Dependency>* found_ = nullptr;
  std::size_t first_found_ = 0;
};

}  // namespace bwmm::isa
