// Gathers PE operands from SBUF into the dense arrays the array computes on.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/instruction.h"
#include "model/ops/memory.h"

namespace bwmm::ops {

struct PeOperand {
  int rows = 0;     // K, partitions
  int columns = 0;  // M or N
  // [rows][columns], raw bits in the low end; double_row: both elements of a row, the first lowest
  std::vector<std::uint32_t> data;
  std::vector<std::uint8_t> scales;  // MX: [groups of rows][columns]
};

// `scale` lies in the quadrants as kMxGroup says.
PeOperand GatherPeOperand(const isa::Operand& operand, const std::optional<isa::Operand>& scale,
                          const Sbuf& sbuf, PeMode mode = PeMode::kOrdinary);

// PSUM destination of a MultiplyMoving in the TensorEngine's units of 2 bytes. The destination must
// be dense: n rows one after the other.
int PsumAddressOf(const isa::Operand& dst);

}  // namespace bwmm::ops
