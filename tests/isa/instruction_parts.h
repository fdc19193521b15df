// Every field of an instruction as a list of numbers, written out by hand: two instructions are the
// same when their lists are. Floats count by their bits.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "model/isa/instruction.h"

namespace bwmm::test {

class InstructionParts {
 public:
  static std::vector<std::int64_t> Of(const isa::Instruction& i) {
    InstructionParts parts;
    parts.Add(i.id, i.core, i.engine, i.body.index());
    std::visit([&](const auto& body) { parts.Body(body); }, i.body);
    return parts.values_;
  }

 private:
  template <typename... Values>
  void Add(const Values&... values) {
    (One(values), ...);
  }
  template <typename Value>
  void One(const Value& value) {
    values_.push_back(static_cast<std::int64_t>(value));
  }
  void One(float value) { values_.push_back(std::bit_cast<std::uint32_t>(value)); }
  void One(const isa::Operand& o) {
    Add(o.memory, o.dtype, o.partition, o.partitions, o.partition_stride, o.offset, o.rank);
    for (int i = 0; i < o.rank; ++i)
      Add(o.dims[i].size, o.dims[i].stride);
  }
  void One(const isa::ScalarArg& scalar) {
    One(scalar.index());
    std::visit([&](const auto& value) { One(value); }, scalar);
  }
  void One(const isa::VectorOffset& v) { Add(v.index, v.rows, v.row_stride, v.oob); }
  void One(const isa::ScalarOffset& s) { Add(s.index, s.limit, s.stride, s.oob); }
  template <typename T>
  void One(const std::optional<T>& value) {
    One(value.has_value());
    if (value)
      One(*value);
  }

  void Body(const isa::LoadStationary& i) { Add(i.mode, i.stationary, i.scale, i.part); }
  void Body(const isa::MultiplyMoving& i) {
    Add(i.mode, i.dst, i.moving, i.scale, i.accumulate, i.part);
  }
  void Body(const isa::QuantizeMx& i) { Add(i.dst, i.dst_scale, i.src, i.rule); }
  void Body(const isa::ActivationOp& i) {
    Add(i.function, i.dst, i.src, i.scale, i.bias, i.reduce_res);
  }
  void Body(const isa::TensorTensor& i) { Add(i.op, i.dst, i.a, i.b); }
  void Body(const isa::TensorScalar& i) { Add(i.dst, i.src, i.op0, i.scalar0, i.op1, i.scalar1); }
  void Body(const isa::ScalarTensorTensor& i) {
    Add(i.dst, i.data, i.op0, i.scalar, i.op1, i.tensor);
  }
  void Body(const isa::TensorReduce& i) { Add(i.op, i.dst, i.src); }
  void Body(const isa::TensorCopy& i) { Add(i.dst, i.src); }
  void Body(const isa::Memset& i) { Add(i.dst, i.value); }
  void Body(const isa::Iota& i) { Add(i.dst, i.base, i.partition_step, i.free_step); }
  void Body(const isa::Max8& i) { Add(i.dst, i.src); }
  void Body(const isa::DmaCopy& i) {
    Add(i.dst, i.src, i.gather, i.scatter, i.src_offset, i.dst_offset);
  }
  void Body(const isa::DmaCompute& i) {
    Add(i.dst, i.sources.size());
    for (const isa::Operand& source : i.sources)
      One(source);
  }
  void Body(const isa::SendRecv& i) { Add(i.dst, i.src, i.peer, i.pipe_id); }
  void Body(const isa::CoreBarrier& i) { Add(i.data); }
  void Body(const isa::RegisterLoad& i) { Add(i.src); }

  std::vector<std::int64_t> values_;
};

}  // namespace bwmm::test
