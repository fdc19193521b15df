// Reads what text.h writes: parse(text(i)) is i, field by field. The grammar is in
// docs/programming_model.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/isa/instruction.h"
#include "model/isa/line_reader.h"

namespace bwmm::isa {

// What a line may say: no product of a size and a stride leaves 64 bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 48;
inline constexpr std::int64_t kMaxReach = std::int64_t{1} << 50;

// SimError naming the column, what stands there and what is allowed.
Instruction ParseInstruction(std::string_view line);
Operand ParseOperand(LineReader& reader);
DType ParseDTypeName(LineReader& reader);

}  // namespace bwmm::isa
