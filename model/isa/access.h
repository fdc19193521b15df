// Which bytes an instruction reads and writes: the one place hazard tracking, memory checks and
// byte counters take it from.
#pragma once

#include <vector>

#include "model/isa/instruction.h"
#include "model/isa/region.h"

namespace bwmm::isa {

struct Access {
  Region region;
  bool write = false;
  // An index tensor of a gather or scatter: read when descriptors are generated, before the data.
  bool index = false;
};

// Each operand is one region, exactly its bytes; a scale one per quadrant. A gathered or scattered
// operand gives its whole table, one with a scalar offset the box of all its places, because the
// rows are not known before the index tensor is read.
std::vector<Access> AccessesOf(const Instruction& instruction);

}  // namespace bwmm::isa
