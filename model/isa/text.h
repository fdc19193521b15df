// One line of text per instruction: id, core, engine, opcode, operands with shape and dtype.
#pragma once

#include <string>

#include "model/isa/instruction.h"

namespace bwmm::isa {

std::string ToText(const Instruction& instruction);

}  // namespace bwmm::isa
