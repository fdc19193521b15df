#include "model/isa/text.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

namespace bwmm::isa {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Body>> kOpcodes = {
    "load_stationary",
    "multiply_moving",
    "quantize_mx",
    "activation",
    "tensor_tensor",
    "tensor_scalar",
    "scalar_tensor_tensor",
    "tensor_reduce",
    "tensor_copy",
    "memset",
    "iota",
    "dma_copy",
    "dma_compute",
    "sendrecv",
    "core_barrier",
    "register_load"};

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

std::string Rows(std::string_view name, const std::optional<VectorOffset>& rows) {
  if (!rows)
    return "";
  return fmt::format(" {}=[{} rows={} stride={} oob={}]", name, ToText(rows->index), rows->rows,
                     rows->row_stride, NameOf(rows->oob));
}

std::string Offset(std::string_view name, const std::optional<ScalarOffset>& offset) {
  if (!offset)
    return "";
  return fmt::format(" {}=[{} limit={} stride={} oob={}]", name, ToText(offset->index),
                     offset->limit, offset->stride, NameOf(offset->oob));
}

std::string Optional(std::string_view name, const std::optional<Operand>& operand) {
  return operand ? fmt::format(" {}={}", name, ToText(*operand)) : "";
}

struct Operands {
  std::string operator()(const LoadStationary& i) const {
    return fmt::format("mode={} stationary={}{}", NameOf(i.mode), ToText(i.stationary),
                       Optional("scale", i.scale));
  }
  std::string operator()(const MultiplyMoving& i) const {
    return fmt::format("mode={} dst={} moving={}{} accumulate={}", NameOf(i.mode), ToText(i.dst),
                       ToText(i.moving), Optional("scale", i.scale), i.accumulate);
  }
  std::string operator()(const QuantizeMx& i) const {
    return fmt::format("dst={} dst_scale={} src={} rule={}", ToText(i.dst), ToText(i.dst_scale),
                       ToText(i.src), NameOf(i.rule));
  }
  std::string operator()(const ActivationOp& i) const {
    return fmt::format("function={} dst={} src={} scale={}{}", NameOf(i.function), ToText(i.dst),
                       ToText(i.src), Number(i.scale), Optional("bias", i.bias));
  }
  std::string operator()(const TensorTensor& i) const {
    return fmt::format("op={} dst={} a={} b={}", NameOf(i.op), ToText(i.dst), ToText(i.a),
                       ToText(i.b));
  }
  std::string operator()(const TensorScalar& i) const {
    std::string second;
    if (i.op1)
      second = fmt::format(" op1={}", NameOf(*i.op1));
    if (i.op1 || !IsZero(i.scalar1))
      second += " scalar1=" + Scalar(i.scalar1);
    return fmt::format("dst={} src={} op0={} scalar0={}{}", ToText(i.dst), ToText(i.src),
                       NameOf(i.op0), Scalar(i.scalar0), second);
  }
  std::string operator()(const ScalarTensorTensor& i) const {
    return fmt::format("dst={} data={} op0={} scalar={} op1={} tensor={}", ToText(i.dst),
                       ToText(i.data), NameOf(i.op0), Scalar(i.scalar), NameOf(i.op1),
                       ToText(i.tensor));
  }
  std::string operator()(const TensorReduce& i) const {
    return fmt::format("op={} dst={} src={}", NameOf(i.op), ToText(i.dst), ToText(i.src));
  }
  std::string operator()(const TensorCopy& i) const {
    return fmt::format("dst={} src={}", ToText(i.dst), ToText(i.src));
  }
  std::string operator()(const Memset& i) const {
    return fmt::format("dst={} value={}", ToText(i.dst), Number(i.value));
  }
  std::string operator()(const Iota& i) const {
    return fmt::format("dst={} base={} partition_step={} free_step={}", ToText(i.dst), i.base,
                       i.partition_step, i.free_step);
  }
  std::string operator()(const DmaCopy& i) const {
    return fmt::format("dst={} src={}{}{}{}{}", ToText(i.dst), ToText(i.src),
                       Rows("gather", i.gather), Rows("scatter", i.scatter),
                       Offset("src_offset", i.src_offset), Offset("dst_offset", i.dst_offset));
  }
  std::string operator()(const DmaCompute& i) const {
    std::string text = "dst=" + ToText(i.dst) + " op=add";
    for (const Operand& source : i.sources)
      text += " src=" + ToText(source);
    return text;
  }
  std::string operator()(const SendRecv& i) const {
    return fmt::format("dst={} src={} peer={} pipe={}", ToText(i.dst), ToText(i.src), i.peer,
                       i.pipe_id);
  }
  std::string operator()(const CoreBarrier& i) const { return "data=" + ToText(i.data); }
  std::string operator()(const RegisterLoad& i) const { return "src=" + ToText(i.src); }
};

}  // namespace

std::string_view NameOf(Engine engine) {
  constexpr std::array<std::string_view, kEngines> kNames = {"tensor", "vector", "scalar", "gpsimd",
                                                             "sync"};
  return kNames[static_cast<int>(engine)];
}

std::string_view NameOf(AluOp op) {
  constexpr std::array<std::string_view, 6> kNames = {"add", "subtract", "multiply",
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
  return kOpcodes[instruction.body.index()];
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
  return fmt::format("{:>6} core{} {:<6} {:<20} {}", instruction.id, instruction.core,
                     NameOf(instruction.engine), OpcodeOf(instruction),
                     std::visit(Operands{}, instruction.body));
}

}  // namespace bwmm::isa
