#include "model/isa/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/isa/text.h"

namespace bwmm::isa {
namespace {

// The values of each enum a field may be.
constexpr std::size_t CountOf(Engine) {
  return kEngines;
}
constexpr std::size_t CountOf(AluOp) {
  return kAluOps;
}
constexpr std::size_t CountOf(PeMode) {
  return kPeModes;
}
constexpr std::size_t CountOf(PePart) {
  return kPeParts;
}
constexpr std::size_t CountOf(Activation) {
  return kActivations;
}
constexpr std::size_t CountOf(ScaleRule) {
  return kScaleRules;
}
constexpr std::size_t CountOf(OutOfBounds) {
  return kOutOfBounds;
}

template <typename Enum>
Enum Named(LineReader& r) {
  static const auto kNames = [] {
    std::array<std::string_view, CountOf(Enum{})> names;
    for (std::size_t i = 0; i < names.size(); ++i)
      names[i] = NameOf(static_cast<Enum>(i));
    return names;
  }();
  return static_cast<Enum>(r.OneOf(kNames));
}

// ` key=` in front of a field.
void Key(LineReader& r, std::string_view key) {
  r.SkipSpaces();
  r.Expect(key);
  r.Expect("=");
}
bool HasKey(LineReader& r, std::string_view key) {
  r.SkipSpaces();
  if (!r.Sees(key))
    return false;
  Key(r, key);
  return true;
}

ScalarArg Scalar(LineReader& r) {
  for (const std::string_view memory : {"hbm+", "sbuf[", "psum["}) {
    if (r.Sees(memory))
      return ParseOperand(r);
  }
  return r.Number();
}

// A row or offset count and a stride in elements whose product stays in range.
void Steps(LineReader& r, std::string_view count_key, std::int64_t& count, std::int64_t& stride,
           OutOfBounds& oob) {
  Key(r, count_key);
  count = r.Integer(0, kMaxElements);
  Key(r, "stride");
  const std::size_t at = r.column();
  stride = r.Integer(-kMaxElements, kMaxElements);
  if (count > 0 && std::abs(stride) > kMaxReach / count)
    r.FailAt(at, "rows times stride of at most 2^50 elements");
  Key(r, "oob");
  oob = Named<OutOfBounds>(r);
  r.Expect("]");
}
void Read(LineReader& r, VectorOffset& rows) {
  Steps(r, "rows", rows.rows, rows.row_stride, rows.oob);
}
void Read(LineReader& r, ScalarOffset& offset) {
  Steps(r, "limit", offset.limit, offset.stride, offset.oob);
}

// Fills the fields a description names.
class Reader {
 public:
  explicit Reader(LineReader& r) : r_(r) {}

  void Field(std::string_view name, float& value) {
    Key(r_, name);
    value = r_.Number();
  }
  void Field(std::string_view name, bool& value) {
    static constexpr std::array<std::string_view, 2> kBooleans = {"false", "true"};
    Key(r_, name);
    value = r_.OneOf(kBooleans) == 1;
  }
  void Field(std::string_view name, std::int32_t& value) {
    Key(r_, name);
    value = static_cast<std::int32_t>(r_.Integer(INT32_MIN, INT32_MAX));
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Field(std::string_view name, Enum& value) {
    Key(r_, name);
    value = Named<Enum>(r_);
  }
  template <typename Enum>
  void Field(std::string_view name, std::optional<Enum>& value) {
    if (HasKey(r_, name))
      value = Named<Enum>(r_);
  }
  void Word(std::string_view name, std::string_view word) {
    Key(r_, name);
    r_.Expect(word);
  }
  void Operand(std::string_view name, Use, isa::Operand& operand) {
    Key(r_, name);
    operand = ParseOperand(r_);
  }
  void Operand(std::string_view name, Use, std::optional<isa::Operand>& operand) {
    if (HasKey(r_, name))
      operand = ParseOperand(r_);
  }
  void Operand(std::string_view name, Use, ScalarArg& scalar) {
    Key(r_, name);
    scalar = Scalar(r_);
  }
  void Last(std::string_view name, Use, ScalarArg& scalar, bool) {
    if (HasKey(r_, name))
      scalar = Scalar(r_);
  }
  void Table(std::string_view name, Use use, isa::Operand& operand,
             const std::optional<VectorOffset>&, const std::optional<ScalarOffset>&) {
    Operand(name, use, operand);
  }
  void Each(std::string_view name, Use, std::vector<isa::Operand>& operands) {
    while (HasKey(r_, name))
      operands.push_back(ParseOperand(r_));
  }
  template <typename Offset>
  void Part(std::string_view name, std::optional<Offset>& part) {
    if (!HasKey(r_, name))
      return;
    r_.Expect("[");
    part.emplace().index = ParseOperand(r_);
    Read(r_, *part);
  }

 private:
  LineReader& r_;
};

constexpr std::size_t kBodies = std::variant_size_v<Body>;

// Each alternative in its default state, in the variant's order.
template <std::size_t... kIndex>
std::array<Body, kBodies> DefaultBodies(std::index_sequence<kIndex...>) {
  return {Body(std::in_place_index<kIndex>)...};
}

Body ParseBody(LineReader& r) {
  static const auto kDefaults = DefaultBodies(std::make_index_sequence<kBodies>());
  static const auto kOpcodes = [] {
    std::array<std::string_view, kBodies> names;
    for (std::size_t i = 0; i < kBodies; ++i)
      names[i] = TraitsOf(kDefaults[i]).opcode;
    return names;
  }();
  Body body = kDefaults[r.OneOf(kOpcodes)];
  Reader fields(r);
  std::visit([&fields](auto& op) { op.Describe(op, fields); }, body);
  return body;
}

}  // namespace

Instruction ParseInstruction(std::string_view line) {
  LineReader r(line);
  Instruction instruction;
  r.SkipSpaces();
  instruction.id = static_cast<std::uint32_t>(r.Integer(0, UINT32_MAX));
  r.Expect(" ");
  r.SkipSpaces();
  r.Expect("core");
  instruction.core = static_cast<int>(r.Integer(0, INT16_MAX));
  r.Expect(" ");
  instruction.engine = Named<Engine>(r);
  r.Expect(" ");
  r.SkipSpaces();
  instruction.body = ParseBody(r);
  r.ExpectEnd();
  return instruction;
}

}  // namespace bwmm::isa
