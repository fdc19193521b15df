// Reads what text.h writes: parse(text(i)) is i, field by field. The grammar is in
// docs/programming_model.md.
#pragma once

#include <string_view>

#include "model/isa/instruction.h"
#include "model/isa/line_reader.h"

namespace bwmm::isa {

// SimError naming the column, what stands there and what is allowed.
Instruction ParseInstruction(std::string_view line);
Operand ParseOperand(LineReader& reader);
DType ParseDTypeName(LineReader& reader);

}  // namespace bwmm::isa
