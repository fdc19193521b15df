// Moves one row of bytes between two access patterns of equal element count and type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/isa/operand.h"

namespace bwmm::ops {

class RowCopy {
 public:
  RowCopy(const isa::Operand& dst, const isa::Operand& src);

  // `dst` and `src` point to the rows' first elements.
  void operator()(std::byte* dst, const std::byte* src) const;

 private:
  std::int64_t run_bytes_;
  std::vector<std::int64_t> dst_runs_, src_runs_;  // byte offsets of the common dense runs
};

// The pattern of a dense row with `operand`'s type and size.
isa::Operand DenseRow(const isa::Operand& operand);

}  // namespace bwmm::ops
