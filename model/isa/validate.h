// Refuses an instruction the hardware cannot encode: operand memories, partition ranges, sizes,
// dtypes, generation. One SimError line naming instruction, operand, value and limit. Sources:
// NKI instruction reference and architecture guides (partition start rule, nc_matmul limits, MX on
// gen4 only).
#pragma once

#include "model/isa/instruction.h"
#include "model/isa/sink.h"

namespace bwmm::isa {

void Validate(const Instruction& instruction, const Limits& limits);

}  // namespace bwmm::isa
