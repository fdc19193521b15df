// Gathers PE operands from SBUF into the dense arrays the array computes on.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/instruction.h"
#include "model/ops/memory.h"

namespace bwmm::ops {

struct PeOperand {
  int rows = 0;                      // K, partitions
  int columns = 0;                   // M or N
  std::vector<std::uint32_t> data;   // [rows][columns], raw bits in the low end
  std::vector<std::uint8_t> scales;  // MX: [groups of rows][columns]
};

// `scale` lies in the quadrants as kMxGroup says.
PeOperand GatherPeOperand(const isa::Operand& operand, const std::optional<isa::Operand>& scale,
                          const Sbuf& sbuf);

// PSUM destination of a MultiplyMoving in the TensorEngine's units of 2 bytes. The destination must
// be dense: n rows one after the other.
int PsumAddressOf(const isa::Operand& dst);

}  // namespace bwmm::ops
