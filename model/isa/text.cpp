#include "model/isa/text.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

namespace bwmm::isa {
namespace {

// Nine digits tell any two values apart; only NaNs need their bits, "nan" is the canonical one.
std::string Number(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value) && bits != kCanonicalNan)
    return fmt::format("nan:{:#x}", bits);
  return fmt::format("{:.9g}", value);
}

std::string Scalar(const ScalarArg& scalar) {
  if (const auto* value = std::get_if<float>(&scalar))
    return Number(*value);
  return ToText(std::get<Operand>(scalar));
}

// The value a scalar that is not there has.
bool IsZero(const ScalarArg& scalar) {
  const auto* value = std::get_if<float>(&scalar);
  return value != nullptr && std::bit_cast<std::uint32_t>(*value) == 0;
}

std::string Text(const VectorOffset& rows) {
  return fmt::format("[{} rows={} stride={} oob={}]", ToText(rows.index), rows.rows,
                     rows.row_stride, NameOf(rows.oob));
}
std::string Text(const ScalarOffset& offset) {
  return fmt::format("[{} limit={} stride={} oob={}]", ToText(offset.index), offset.limit,
                     offset.stride, NameOf(offset.oob));
}

// Writes the fields a description names, each as name=value.
class Writer {
 public:
  void Field(std::string_view name, float value) { Add(name, Number(value)); }
  void Field(std::string_view name, bool value) { Add(name, value ? "true" : "false"); }
  void Field(std::string_view name, std::int32_t value) { Add(name, std::to_string(value)); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Field(std::string_view name, Enum value) { Add(name, NameOf(value)); }
  template <typename Enum>
  void Field(std::string_view name, const std::optional<Enum>& value) {
    if (value)
      Field(name, *value);
  }
  void Word(std::string_view name, std::string_view word) { Add(name, word); }
  void Operand(std::string_view name, Use, const isa::Operand& operand) {
    Add(name, ToText(operand));
  }
  void Operand(std::string_view name, Use use, const std::optional<isa::Operand>& operand) {
    if (operand)
      Operand(name, use, *operand);
  }
  void Operand(std::string_view name, Use, const ScalarArg& scalar) { Add(name, Scalar(scalar)); }
  void Last(std::string_view name, Use use, const ScalarArg& scalar, bool shown) {
    if (shown || !IsZero(scalar))
      Operand(name, use, scalar);
  }
  void Table(std::string_view name, Use, const isa::Operand& operand,
             const std::optional<VectorOffset>&, const std::optional<ScalarOffset>&) {
    Add(name, ToText(operand));
  }
  void Each(std::string_view name, Use, const std::vector<isa::Operand>& operands) {
    for (const isa::Operand& operand : operands)
      Add(name, ToText(operand));
  }
  template <typename Offset>
  void Part(std::string_view name, const std::optional<Offset>& part) {
    if (part)
      Add(name, Text(*part));
  }

  const std::string& text() const { return text_; }

 private:
  void Add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}{}={}", text_.empty() ? "" : " ", name, value);
  }

  std::string text_;
};

}  // namespace

std::string_view NameOf(Engine engine) {
  constexpr std::array<std::string_view, kEngines> kNames = {"tensor", "vector", "scalar", "gpsimd",
                                                             "sync"};
  return kNames[static_cast<int>(engine)];
}

std::string_view NameOf(AluOp op) {
  constexpr std::array<std::string_view, kAluOps> kNames = {"add", "subtract", "multiply",
                                                            "max", "min",      "is_equal"};
  return kNames[static_cast<int>(op)];
}

std::string_view NameOf(OutOfBounds oob) {
  return oob == OutOfBounds::kSkip ? "skip" : "error";
}

std::string_view NameOf(ScaleRule rule) {
  return rule == ScaleRule::kX2 ? "x2" : "ocp";
}

std::string_view OpcodeOf(const Instruction& instruction) {
  return TraitsOf(instruction.body).opcode;
}

std::string ToText(const Operand& operand) {
  // A dimension shows its stride where it differs from that of dense elements.
  std::int64_t dense = 1;
  std::string dims;
  for (int i = operand.rank - 1; i >= 0; --i) {
    const Dim& dim = operand.dims[i];
    dims = dim.stride == dense ? fmt::format(",{}{}", dim.size, dims)
                               : fmt::format(",{}:{}{}", dim.size, dim.stride, dims);
    dense *= dim.size;
  }
  if (operand.memory != Memory::kHbm)
    return fmt::format("{}[{}:{}]+{:#x} {}[{}{}]",
                       operand.memory == Memory::kSbuf ? "sbuf" : "psum", operand.partition,
                       operand.partition + operand.partitions, operand.offset,
                       NameOf(operand.dtype), operand.partitions, dims);
  // One dense row needs no stride.
  const bool plain = operand.partitions == 1 && operand.partition_stride == dense;
  return fmt::format("hbm+{:#x} {}[{}{}{}]", operand.offset, NameOf(operand.dtype),
                     operand.partitions, plain ? "" : fmt::format(":{}", operand.partition_stride),
                     dims);
}

std::string ToText(const Instruction& instruction) {
  Writer fields;
  std::visit([&fields](const auto& op) { op.Describe(op, fields); }, instruction.body);
  return fmt::format("{:>6} core{} {:<6} {:<20} {}", instruction.id, instruction.core,
                     NameOf(instruction.engine), OpcodeOf(instruction), fields.text());
}

}  // namespace bwmm::isa
