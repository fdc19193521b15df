// The DMA engines' copies. Same type: bytes move unchanged. Other type: through fp32.
#pragma once

#include "model/isa/instruction.h"
#include "model/ops/execute.h"

namespace bwmm::ops {

void Execute(const isa::DmaCopy& op, CoreMemory& memory);
void Execute(const isa::DmaCompute& op, CoreMemory& memory);

// The operand's rows one by one with dynamic offsets resolved: calls f(p, row operand of one
// partition) for each row that is not skipped. Out of bounds is a SimError or a skip.
void ForEachDynamicRow(const isa::Operand& operand, const std::optional<isa::VectorOffset>& rows,
                       const std::optional<isa::ScalarOffset>& offset, CoreMemory& memory,
                       const std::function<void(std::int64_t, const isa::Operand&)>& f);

}  // namespace bwmm::ops
