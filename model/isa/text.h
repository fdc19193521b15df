// One line of text per instruction: id, core, engine, opcode, operands with shape and dtype.
// Nothing is lost: parse.h reads the line back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/isa/instruction.h"

namespace bwmm::isa {

// The NaN that reads "nan"; others show their bits, "nan:0xffc00001".
inline constexpr std::uint32_t kCanonicalNan = 0x7fc00000;

std::string_view NameOf(OutOfBounds oob);  // "error", "skip"
std::string_view NameOf(ScaleRule rule);   // "x2", "ocp"

std::string ToText(const Instruction& instruction);

}  // namespace bwmm::isa
