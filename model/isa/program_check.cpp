#include "model/isa/program_check.h"

#include <algorithm>

#include "model/isa/text.h"
#include "model/isa/validate.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

class PairCheck {
 public:
  PairCheck(const Instruction& instruction, const LoadStationary& stationary)
      : instruction_(instruction), stationary_(stationary) {}

  void Check(const MultiplyMoving& move) const {
    const Operand& loaded = stationary_.stationary;
    Require(move.mode == stationary_.mode,
            fmt::format("mode must be {}, the load_stationary's", NameOf(stationary_.mode)),
            move.dst);
    const std::int64_t columns = loaded.free_size() / RowsInOne(stationary_.mode);
    Require(
        move.dst.partitions == columns,
        fmt::format("dst must have {} partitions, the columns of the stationary operand", columns),
        move.dst);
    if (move.mode == PeMode::kTranspose) {
      Require(
          move.dst.free_size() == loaded.partitions,
          fmt::format("a transpose's dst must have {} elements per partition, the partitions of "
                      "its source",
                      loaded.partitions),
          move.dst);
      const int bytes = std::max(2, SizeOf(loaded.dtype));
      Require(SizeOf(move.dst.dtype) == bytes,
              fmt::format("a transpose of {} must have a dst of {} bytes an element",
                          NameOf(loaded.dtype), bytes),
              move.dst);
      return;
    }
    Require(move.part.has_value() == stationary_.part.has_value(),
            "float32 is multiplied with float32 only", move.moving);
    Require(move.moving.partitions == loaded.partitions,
            fmt::format("moving must have {} partitions, those of the stationary operand",
                        loaded.partitions),
            move.moving);
  }

 private:
  void Require(bool holds, const std::string& rule, const Operand& operand) const {
    if (!holds)
      throw SimError("instruction {} ({}) on core {}: {}; it is {}, the stationary operand is {}",
                     instruction_.id, OpcodeOf(instruction_), instruction_.core, rule,
                     ToText(operand), ToText(stationary_.stationary));
  }

  const Instruction& instruction_;
  const LoadStationary& stationary_;
};

}  // namespace

void ProgramCheck::Add(const Instruction& instruction) {
  Validate(instruction, limits_);
  if (std::holds_alternative<RegisterLoad>(instruction.body))
    register_loads_.insert(instruction.id);
  if (const auto* load = std::get_if<LoadStationary>(&instruction.body)) {
    stationary_ = *load;
  } else if (const auto* move = std::get_if<MultiplyMoving>(&instruction.body)) {
    if (!stationary_)
      throw SimError("instruction {} ({}) on core {}: a load_stationary must come before it",
                     instruction.id, OpcodeOf(instruction), instruction.core);
    PairCheck(instruction, *stationary_).Check(*move);
  }
}

void ProgramCheck::ReadRegister(int core, std::uint32_t id) const {
  if (!register_loads_.contains(id))
    throw SimError("core {}: register_value of instruction {}, allowed that of a register_load",
                   core, id);
}

}  // namespace bwmm::isa
