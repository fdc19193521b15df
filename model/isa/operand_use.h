// The operands of an instruction with what it does to them, from its description.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "model/isa/instruction.h"
#include "model/numerics/scale_group.h"

namespace bwmm::isa {

struct OperandUse {
  std::string_view name;
  Use use;
  const isa::Operand& operand;
  // Of a table: where its rows and its start come from.
  const std::optional<VectorOffset>* rows = nullptr;
  const std::optional<ScalarOffset>* offset = nullptr;

  bool dynamic() const { return (rows && *rows) || (offset && *offset); }
};

template <typename F>
class OperandWalk {
 public:
  explicit OperandWalk(F& f) : f_(f) {}

  template <typename Value>
  void Field(std::string_view, const Value&) {}
  void Word(std::string_view, std::string_view) {}
  void Operand(std::string_view name, Use use, const isa::Operand& operand) {
    f_(OperandUse{name, use, operand});
  }
  void Operand(std::string_view name, Use use, const std::optional<isa::Operand>& operand) {
    if (operand)
      Operand(name, use, *operand);
  }
  void Operand(std::string_view name, Use use, const ScalarArg& scalar) {
    if (const auto* operand = std::get_if<isa::Operand>(&scalar))
      Operand(name, use, *operand);
  }
  void Last(std::string_view name, Use use, const ScalarArg& scalar, bool) {
    Operand(name, use, scalar);
  }
  void Table(std::string_view name, Use use, const isa::Operand& operand,
             const std::optional<VectorOffset>& rows, const std::optional<ScalarOffset>& offset) {
    f_(OperandUse{name, use, operand, &rows, &offset});
  }
  void Each(std::string_view, Use use, const std::vector<isa::Operand>& operands) {
    for (const isa::Operand& operand : operands)
      Operand("source", use, operand);
  }
  void Part(std::string_view, const std::optional<VectorOffset>& rows) {
    if (rows)
      Operand("index", {Role::kIndex}, rows->index);
  }
  void Part(std::string_view, const std::optional<ScalarOffset>& offset) {
    if (offset)
      Operand("scalar offset", {Role::kIndex}, offset->index);
  }

 private:
  F& f_;
};

// Calls f(OperandUse) for each operand that is there.
template <typename F>
void ForEachOperand(const Body& body, F f) {
  OperandWalk<F> walk(f);
  std::visit([&walk](const auto& op) { op.Describe(op, walk); }, body);
}

// Whether all it works on is int32, so that the arithmetic is exact.
inline bool OnIntegers(const Body& body) {
  bool integers = true;
  ForEachOperand(body,
                 [&](const OperandUse& use) { integers &= use.operand.dtype == DType::kInt32; });
  return integers;
}

// Calls f(rows) for the scale rows at the start of each quadrant that `scale` reaches into.
template <typename F>
void ForEachScaleQuadrant(const Operand& scale, F f) {
  kMxGroup.ForEachScaleRun(scale.partitions, [&](const ScaleRun& run) {
    Operand rows = scale;
    rows.partition += run.partition;
    rows.partitions = run.count;
    f(rows);
  });
}

}  // namespace bwmm::isa
