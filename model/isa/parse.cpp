#include "model/isa/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "model/isa/text.h"

namespace bwmm::isa {
namespace {

// No product of a size and a stride leaves 64 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 48;
constexpr std::int64_t kMaxReach = std::int64_t{1} << 50;

template <typename Enum, std::size_t kCount>
std::array<std::string_view, kCount> Names() {
  std::array<std::string_view, kCount> names;
  for (std::size_t i = 0; i < kCount; ++i)
    names[i] = NameOf(static_cast<Enum>(i));
  return names;
}

template <typename Enum, std::size_t kCount>
Enum Named(LineReader& r) {
  static const auto kNames = Names<Enum, kCount>();
  return static_cast<Enum>(r.OneOf(kNames));
}

AluOp Alu(LineReader& r) {
  return Named<AluOp, 6>(r);
}
PeMode Mode(LineReader& r) {
  return Named<PeMode, 3>(r);
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

Operand Field(LineReader& r, std::string_view key) {
  Key(r, key);
  return ParseOperand(r);
}
std::optional<Operand> OptionalField(LineReader& r, std::string_view key) {
  return HasKey(r, key) ? std::optional(ParseOperand(r)) : std::nullopt;
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
  oob = Named<OutOfBounds, 2>(r);
  r.Expect("]");
}
std::optional<VectorOffset> Rows(LineReader& r, std::string_view key) {
  if (!HasKey(r, key))
    return std::nullopt;
  r.Expect("[");
  VectorOffset rows{.index = ParseOperand(r)};
  Steps(r, "rows", rows.rows, rows.row_stride, rows.oob);
  return rows;
}
std::optional<ScalarOffset> Offset(LineReader& r, std::string_view key) {
  if (!HasKey(r, key))
    return std::nullopt;
  r.Expect("[");
  ScalarOffset offset{.index = ParseOperand(r)};
  Steps(r, "limit", offset.limit, offset.stride, offset.oob);
  return offset;
}

template <typename T>
T Value(LineReader& r, std::string_view key, T (*read)(LineReader&)) {
  Key(r, key);
  return read(r);
}

void Read(LineReader& r, LoadStationary& i) {
  i.mode = Value(r, "mode", Mode);
  i.stationary = Field(r, "stationary");
  i.scale = OptionalField(r, "scale");
}
void Read(LineReader& r, MultiplyMoving& i) {
  i.mode = Value(r, "mode", Mode);
  i.dst = Field(r, "dst");
  i.moving = Field(r, "moving");
  i.scale = OptionalField(r, "scale");
  Key(r, "accumulate");
  static constexpr std::array<std::string_view, 2> kBooleans = {"false", "true"};
  i.accumulate = r.OneOf(kBooleans) == 1;
}
void Read(LineReader& r, QuantizeMx& i) {
  i.dst = Field(r, "dst");
  i.dst_scale = Field(r, "dst_scale");
  i.src = Field(r, "src");
  Key(r, "rule");
  i.rule = Named<ScaleRule, 2>(r);
}
void Read(LineReader& r, ActivationOp& i) {
  Key(r, "function");
  i.function = Named<Activation, 8>(r);
  i.dst = Field(r, "dst");
  i.src = Field(r, "src");
  Key(r, "scale");
  i.scale = r.Number();
  i.bias = OptionalField(r, "bias");
}
void Read(LineReader& r, TensorTensor& i) {
  i.op = Value(r, "op", Alu);
  i.dst = Field(r, "dst");
  i.a = Field(r, "a");
  i.b = Field(r, "b");
}
void Read(LineReader& r, TensorScalar& i) {
  i.dst = Field(r, "dst");
  i.src = Field(r, "src");
  i.op0 = Value(r, "op0", Alu);
  i.scalar0 = Value(r, "scalar0", Scalar);
  if (HasKey(r, "op1"))
    i.op1 = Alu(r);
  if (HasKey(r, "scalar1"))
    i.scalar1 = Scalar(r);
}
void Read(LineReader& r, ScalarTensorTensor& i) {
  i.dst = Field(r, "dst");
  i.data = Field(r, "data");
  i.op0 = Value(r, "op0", Alu);
  i.scalar = Value(r, "scalar", Scalar);
  i.op1 = Value(r, "op1", Alu);
  i.tensor = Field(r, "tensor");
}
void Read(LineReader& r, TensorReduce& i) {
  i.op = Value(r, "op", Alu);
  i.dst = Field(r, "dst");
  i.src = Field(r, "src");
}
void Read(LineReader& r, TensorCopy& i) {
  i.dst = Field(r, "dst");
  i.src = Field(r, "src");
}
void Read(LineReader& r, Memset& i) {
  i.dst = Field(r, "dst");
  Key(r, "value");
  i.value = r.Number();
}
void Read(LineReader& r, Iota& i) {
  const auto step = [&r](std::string_view key) {
    Key(r, key);
    return static_cast<std::int32_t>(r.Integer(INT32_MIN, INT32_MAX));
  };
  i.dst = Field(r, "dst");
  i.base = step("base");
  i.partition_step = step("partition_step");
  i.free_step = step("free_step");
}
void Read(LineReader& r, DmaCopy& i) {
  i.dst = Field(r, "dst");
  i.src = Field(r, "src");
  i.gather = Rows(r, "gather");
  i.scatter = Rows(r, "scatter");
  i.src_offset = Offset(r, "src_offset");
  i.dst_offset = Offset(r, "dst_offset");
}
void Read(LineReader& r, DmaCompute& i) {
  i.dst = Field(r, "dst");
  Key(r, "op");
  r.Expect("add");
  while (HasKey(r, "src"))
    i.sources.push_back(ParseOperand(r));
}
void Read(LineReader& r, SendRecv& i) {
  i.dst = Field(r, "dst");
  i.src = Field(r, "src");
  Key(r, "peer");
  i.peer = static_cast<int>(r.Integer(INT32_MIN, INT32_MAX));
  Key(r, "pipe");
  i.pipe_id = static_cast<int>(r.Integer(INT32_MIN, INT32_MAX));
}
void Read(LineReader& r, CoreBarrier& i) {
  i.data = Field(r, "data");
}
void Read(LineReader& r, RegisterLoad& i) {
  i.src = Field(r, "src");
}

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
      names[i] = OpcodeOf(Instruction{.body = kDefaults[i]});
    return names;
  }();
  Body body = kDefaults[r.OneOf(kOpcodes)];
  std::visit([&r](auto& fields) { Read(r, fields); }, body);
  return body;
}

// Size and stride of one dimension; `elements` is what the dimensions so far hold together.
Dim ParseDim(LineReader& r, bool& has_stride, std::int64_t& elements) {
  Dim dim;
  const std::size_t at = r.column();
  dim.size = r.Integer(0, kMaxElements);
  const std::int64_t factor = std::max<std::int64_t>(dim.size, 1);
  if (elements > kMaxElements / factor)
    r.FailAt(at, "at most 2^40 elements in all");
  elements *= factor;
  has_stride = r.Take(":");
  if (!has_stride)
    return dim;
  const std::size_t stride_at = r.column();
  dim.stride = r.Integer(-kMaxElements, kMaxElements);
  if (std::abs(dim.stride) > kMaxReach / factor)
    r.FailAt(stride_at, "size times stride of at most 2^50 elements");
  return dim;
}

}  // namespace

DType ParseDTypeName(LineReader& reader) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(DType::kUint32); ++i)
      names.push_back(NameOf(static_cast<DType>(i)));
    return names;
  }();
  return static_cast<DType>(reader.OneOf(kNames));
}

Operand ParseOperand(LineReader& r) {
  constexpr std::array<std::string_view, 3> kMemories = {"hbm", "sbuf", "psum"};
  Operand operand;
  operand.memory = static_cast<Memory>(r.OneOf(kMemories));
  const bool hbm = operand.memory == Memory::kHbm;
  std::int64_t partition_end = 0;
  if (!hbm) {
    r.Expect("[");
    operand.partition = static_cast<int>(r.Integer(INT16_MIN, INT16_MAX));
    r.Expect(":");
    partition_end = r.Integer(operand.partition, INT16_MAX);
    r.Expect("]");
  }
  r.Expect("+");
  operand.offset = static_cast<std::uint64_t>(r.Integer(0, kMaxBytes));
  r.Expect(" ");
  operand.dtype = ParseDTypeName(r);
  r.Expect("[");
  std::int64_t elements = 1;
  const std::size_t rows_at = r.column();
  bool has_row_stride = false;
  const Dim rows = ParseDim(r, has_row_stride, elements);
  operand.partitions = rows.size;
  if (!hbm && has_row_stride)
    r.FailAt(rows_at, "partitions without a stride");
  if (!hbm && rows.size != partition_end - operand.partition)
    r.FailAt(rows_at,
             fmt::format("{}, the partitions in front", partition_end - operand.partition));
  std::array<bool, Operand::kMaxRank> has_stride{};
  while (r.Take(",")) {
    if (operand.rank == Operand::kMaxRank)
      r.Fail("at most 4 free dimensions");
    operand.dims[operand.rank] = ParseDim(r, has_stride[operand.rank], elements);
    ++operand.rank;
  }
  r.Expect("]");
  std::int64_t dense = 1;
  for (int i = operand.rank - 1; i >= 0; --i) {
    if (!has_stride[i])
      operand.dims[i].stride = dense;
    dense *= operand.dims[i].size;
  }
  if (!hbm)
    return operand;
  if (!has_row_stride && rows.size != 1)
    r.FailAt(rows_at, "rows:stride where there are several");
  operand.partition_stride = has_row_stride ? rows.stride : dense;
  return operand;
}

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
  instruction.engine = Named<Engine, kEngines>(r);
  r.Expect(" ");
  r.SkipSpaces();
  instruction.body = ParseBody(r);
  r.ExpectEnd();
  return instruction;
}

}  // namespace bwmm::isa
