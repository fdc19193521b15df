// Region: the bytes an access touches, as the box they lie in and the runs that fill it.
//
//   begin                                 end
//     |##..##..##..........##..##..##|          runs of 2 bytes: 2 times 22 apart, in each of them
//                                               3 times 4 apart
//
// Whether two of them share a byte is asked of each pair of accesses whose boxes meet, so it is
// arithmetic on starts, strides and counts, and no walk over runs.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/operand.h"

namespace bwmm::isa {

struct Region {
  struct Repeat {
    std::int64_t count = 0;
    std::int64_t stride = 0;  // bytes

    friend bool operator==(const Repeat&, const Repeat&) = default;
  };

  // Partitions [partition, partition_end), the same bytes in each of them. HBM regions have the
  // partition range [0, 1) and absolute addresses.
  Memory memory = Memory::kSbuf;
  int partition = 0;
  int partition_end = 1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  // No repeats: all bytes of the box. Else runs of `run` bytes, the widest stride first.
  std::int64_t run = 0;
  std::vector<Repeat> repeats = {};

  bool dense() const { return repeats.empty(); }

  friend bool operator==(const Region&, const Region&) = default;
};

// Exactly the bytes of the elements. Patterns without gaps are dense in whatever order they are
// walked, and equal byte sets of one origin give equal regions where dimensions can be joined.
Region RegionOf(const Operand& operand);

// Whether the two share a byte, partitions left out of account.
bool ShareBytes(const Region& a, const Region& b);

// True only if every byte of `b` is one of `a`, partitions left out of account; false may be said
// of a region that several runs of `a` cover together.
bool Covers(const Region& a, const Region& b);

}  // namespace bwmm::isa
