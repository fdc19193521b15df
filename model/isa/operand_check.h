// The rules of single operands, which those of whole instructions (validate.cpp) are made of. Each
// refuses with one line: the instruction, the rule, the operand as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/isa/instruction.h"
#include "model/isa/sink.h"

namespace bwmm::isa {

class OperandCheck {
 public:
  OperandCheck(const Instruction& instruction, const Limits& limits)
      : instruction_(instruction), limits_(limits) {}

  Engine engine() const { return instruction_.engine; }
  [[noreturn]] void Refuse(const std::string& why) const;
  void Require(bool holds, std::string_view rule, const Operand& operand) const;
  // Integer arithmetic is exact, so its constants are whole numbers of int32.
  void Whole(const ScalarArg& scalar) const;
  // `operand` has `count` elements, in words, in each of src's partitions.
  void InEachPartition(const Operand& operand, std::string_view words, std::int64_t count,
                       const Operand& src) const;

 protected:
  const Instruction& instruction() const { return instruction_; }
  const Limits& limits() const { return limits_; }

  void Ranked(const Operand& operand) const;
  void RequireMx(PeMode mode, bool has_scale) const;
  void RequireWhole(PeMode mode, bool has_part) const;
  // Start partition rule of SBUF and PSUM accesses, and that the bytes exist.
  void Place(const Operand& operand) const;
  // The bytes of an SBUF or PSUM operand exist.
  void Fits(const Operand& operand) const;
  // An operand of a DMA, which has no start partition rule.
  void Moved(const Operand& operand) const;
  void Rows(const std::optional<VectorOffset>& rows, const Operand& table) const;
  void Offset(const std::optional<ScalarOffset>& offset, const Operand& table) const;
  void InPlace(isa::Place place, const Operand& operand) const;
  void OfShape(Shape shape, const Operand& operand, const Operand* dst) const;
  void Local(const Operand& operand) const;
  void SameShape(const Operand& source, const Operand& dst) const;
  // A scalar operand: one value per partition, or one for all.
  void PerPartition(const Operand& scalar, const Operand& dst) const;
  // Checks [K, 2, C] fp8 operands of double_row mode.
  void DoubleRow(const Operand& operand) const;
  void PeType(const Operand& operand, std::optional<PePart> part) const;
  // The scale of x4 words `data`: quadrant layout, one byte per word of a row.
  void Scale(const Operand& scale, const Operand& data) const;
  void PeScale(const Operand& scale, const Operand& data) const;

 private:
  const Instruction& instruction_;
  const Limits& limits_;
};

}  // namespace bwmm::isa
