// N is the number of elements per partition, MIN the shortest occupancy (64). Sources as in
// model/presets/trn3.toml; ISA226 is the nki.isa reference of release 2.26.1.
//
//   instruction          occupancy                                                     source
//   activation           max(MIN, N); MIN more when it reduces                         ISA226
//   tensor_scalar        max(MIN, N / mode)                                            ISA226, T2
//   tensor_copy          max(MIN, N / mode)                                            ISA226, T3
//   tensor_tensor        max(MIN, N): an operand in PSUM, or all narrow;
//                        else max(MIN, 2 N)                                            ISA226, T2
//   scalar_tensor_tensor max(MIN, N): 16-bit floats, subtract then multiply, N even;
//                        else max(MIN, 2 N)                                            ISA226
//   tensor_reduce        max(MIN, N / 2): bf16 in and out, add or max; else max(MIN, N) ISA226
//   memset               max(MIN, N / 2): zero into bf16 or fp16; else max(MIN, N)     ISA226
//   max8                 max(MIN, N)                                                   ISA226
//   iota                 150 + N                                                       ISA226
//   quantize_mx          max(MIN, N / 4)                                               T3
//   register_load        64 from SBUF; from HBM one DMA start in addition              chosen
//   descriptors          fixed + rows * cycles per descriptor (gather, scatter)        chosen
//
//   narrow               16-bit floats; on trn3 fp8 too                                T2, T3
//   mode, VectorEngine   4: in and out in SBUF, both narrow, contiguous                T2, T3
//                        2: the same, not contiguous; or one side in PSUM, contiguous  T2
//                        2: in and out in SBUF, any other types, contiguous            T2
//   mode, ScalarEngine   2 on trn3: in and out both narrow                             T3
//   latency              VectorEngine 144; quantize_mx: pipeline_cycles more           nki-library
//                        ScalarEngine 200                                              fitted, V8
//                        GpSimd, Sync: access_cycles (60)                              T1
#include "model/units/cost_table.h"

#include <algorithm>

#include "model/support/check.h"

namespace bwmm::units {
namespace {

using isa::Engine;
using isa::Memory;
using isa::Operand;

bool Is16BitFloat(const Operand& operand) {
  return operand.dtype == DType::kBf16 || operand.dtype == DType::kFp16;
}

bool IsFp8(const Operand& operand) {
  return operand.dtype == DType::kFp8E4M3Fn || operand.dtype == DType::kFp8E4M3 ||
         operand.dtype == DType::kFp8E5M2;
}

bool IsNarrow(const Operand& operand, const CostTable& t) {
  return Is16BitFloat(operand) || (t.fp8_modes && IsFp8(operand));
}

bool IsContiguous(const Operand& operand) {
  return operand.free_size() == 1 || operand.contiguous_run() > 1;
}

std::int64_t CeilDiv(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// How many elements per lane and cycle tensor_copy and tensor_scalar move.
std::int64_t ModeOf(Engine engine, const Operand& dst, const Operand& src, const CostTable& t) {
  const bool narrow = IsNarrow(dst, t) && IsNarrow(src, t);
  if (engine == Engine::kScalar)
    return narrow && t.scalar_2x ? 2 : 1;
  if (engine != Engine::kVector || !t.vector_perf_modes)
    return 1;
  const bool contiguous = IsContiguous(dst) && IsContiguous(src);
  const int in_sbuf = (dst.memory == Memory::kSbuf) + (src.memory == Memory::kSbuf);
  if (!narrow)
    return in_sbuf == 2 && contiguous ? 2 : 1;
  if (in_sbuf == 2)
    return contiguous ? 4 : 2;
  return in_sbuf == 1 && contiguous ? 2 : 1;
}

struct Occupancy {
  Engine engine;
  const CostTable& t;

  std::int64_t AtLeast(std::int64_t cycles) const { return std::max(t.min_interval, cycles); }

  std::int64_t operator()(const isa::ActivationOp& i) const {
    // The sums are read out by a second instruction of the shortest length.
    return AtLeast(i.src.free_size()) + (i.reduce_res ? t.min_interval : 0);
  }
  std::int64_t operator()(const isa::TensorCopy& i) const {
    return AtLeast(CeilDiv(i.dst.free_size(), ModeOf(engine, i.dst, i.src, t)));
  }
  std::int64_t operator()(const isa::TensorScalar& i) const {
    return AtLeast(CeilDiv(i.dst.free_size(), ModeOf(engine, i.dst, i.src, t)));
  }
  std::int64_t operator()(const isa::TensorTensor& i) const {
    const std::int64_t n = i.dst.free_size();
    const bool from_psum = i.a.memory == Memory::kPsum || i.b.memory == Memory::kPsum;
    const bool narrow = engine == Engine::kVector && t.vector_perf_modes && IsNarrow(i.dst, t) &&
                        IsNarrow(i.a, t) && IsNarrow(i.b, t);
    return AtLeast(from_psum || narrow ? n : 2 * n);
  }
  std::int64_t operator()(const isa::ScalarTensorTensor& i) const {
    const std::int64_t n = i.dst.free_size();
    const bool fused = Is16BitFloat(i.data) && Is16BitFloat(i.tensor) &&
                       i.op0 == isa::AluOp::kSubtract && i.op1 == isa::AluOp::kMultiply &&
                       n % 2 == 0;
    return AtLeast(fused ? n : 2 * n);
  }
  std::int64_t operator()(const isa::TensorReduce& i) const {
    const std::int64_t n = i.src.free_size();
    const bool fast = i.src.dtype == DType::kBf16 && i.dst.dtype == DType::kBf16 &&
                      (i.op == isa::AluOp::kAdd || i.op == isa::AluOp::kMax);
    return AtLeast(fast ? CeilDiv(n, 2) : n);
  }
  std::int64_t operator()(const isa::Memset& i) const {
    const std::int64_t n = i.dst.free_size();
    return AtLeast(i.value == 0.0f && Is16BitFloat(i.dst) ? CeilDiv(n, 2) : n);
  }
  std::int64_t operator()(const isa::Iota& i) const {
    return AtLeast(t.gpsimd_fixed + i.dst.free_size());
  }
  std::int64_t operator()(const isa::QuantizeMx& i) const { return AtLeast(i.dst.free_size()); }
  std::int64_t operator()(const isa::Max8& i) const { return AtLeast(i.src.free_size()); }
  std::int64_t operator()(const isa::RegisterLoad&) const { return t.register_load_cycles; }

  // From the last element taken to the result visible.
  std::int64_t Latency() const {
    if (engine == Engine::kVector)
      return t.vector_latency_cycles;
    return engine == Engine::kScalar ? t.scalar_latency_cycles : t.access_cycles;
  }
  // What a result takes longer than that.
  std::int64_t PipelineOf(const isa::QuantizeMx&) const { return t.quantize_pipeline_cycles; }
  template <typename Op>
  std::int64_t PipelineOf(const Op&) const {
    return 0;
  }
};

// What occupies an engine has a line above, or this does not compile.
struct Line {
  const Occupancy& occupancy;

  template <typename Op>
  Cost operator()(const Op& op) const {
    constexpr bool kComputes =
        (Op::kTraits.owner == isa::Owner::kOps && Op::kTraits.unit != isa::Unit::kDma) ||
        Op::kTraits.owner == isa::Owner::kSequencer;
    if constexpr (kComputes) {
      return {.occupancy = occupancy(op),
              .latency = occupancy.Latency() + occupancy.PipelineOf(op)};
    } else {
      Check(false, "the cost table has a line for every compute instruction");
      return {};
    }
  }
};

}  // namespace

Cost CostOf(const isa::Instruction& instruction, const CostTable& table) {
  const Occupancy occupancy{instruction.engine, table};
  return std::visit(Line{occupancy}, instruction.body);
}

std::int64_t DescriptorCycles(std::int64_t descriptors, const CostTable& table) {
  return table.descriptors_fixed_cycles + descriptors * table.descriptor_cycles;
}

std::int64_t QuantizeMxCycles(std::int64_t columns, const CostTable& table) {
  return columns - 1 + table.quantize_pipeline_cycles;
}

}  // namespace bwmm::units
