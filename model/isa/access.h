// Which bytes an instruction reads and writes: the one place hazard tracking, memory checks and
// byte counters take it from.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/instruction.h"

namespace bwmm::isa {

// A box: partitions [partition, partition_end) x bytes [begin, end) of each. HBM regions have the
// partition range [0, 1) and absolute addresses.
struct Region {
  Memory memory = Memory::kSbuf;
  int partition = 0;
  int partition_end = 1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

struct Access {
  Region region;
  bool write = false;
  // An index tensor of a gather or scatter: read when descriptors are generated, before the data.
  bool index = false;
};

// Regions are exact for dense patterns. A pattern with gaps gives one region per dense run up to a
// small number of runs, its bounding box beyond. A gathered or scattered operand gives its whole
// table, because the rows are not known before the index tensor is read.
std::vector<Access> AccessesOf(const Instruction& instruction);

// Regions of one operand as above, appended to `regions`.
void AppendRegions(const Operand& operand, std::vector<Region>& regions);

}  // namespace bwmm::isa
