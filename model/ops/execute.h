// What instructions do to memory, bit for bit and without time.
//
// Execute covers every instruction of the Vector, Scalar and GpSimd engines and the DMA engines.
// PE instructions are split in two: operands are gathered here (pe_operands.h), the array itself is
// matmul.h / matmul_mx.h or an engine::TensorEngine. Meetings of cores (sendrecv, core_barrier)
// belong to whoever runs them all.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/isa/instruction.h"
#include "model/ops/memory.h"

namespace bwmm::ops {

// Computes one quantize_mx; same signature as ops::QuantizeMx, so that a Verilated unit can stand
// in for it.
using QuantizeFunction =
    std::function<void(DType source, DType target, ScaleRule rule, const std::uint16_t* data,
                       int rows, int columns, std::uint32_t* words, std::uint8_t* scales)>;

struct CoreMemory {
  int core = 0;
  Sbuf& sbuf;
  PsumPort& psum;
  Hbm& hbm;
  QuantizeFunction quantize;
  // Timing fidelity: only instructions on int32 tensors (indices, conditions) are executed; all
  // others leave memory alone.
  bool control_only = false;
};

// What a DMA moved once its dynamic rows are known.
struct DmaTraffic {
  std::vector<int> lanes = {};    // rows not skipped; all rows of a static access
  std::int64_t rows_skipped = 0;  // out of bounds with kSkip
};

// True when Execute would touch data in timing fidelity.
bool IsControl(const isa::Instruction& instruction);

// Executes the instruction. Errors (out of bounds, index errors) are SimErrors naming instruction
// id, core, operand, value and limit.
void Execute(const isa::Instruction& instruction, CoreMemory& memory);

// Rows a gather or scatter will move, from its index tensor as it is now.
DmaTraffic TrafficOf(const isa::DmaCopy& copy, CoreMemory& memory);

// True when a scalar offset is out of bounds and skipped: nothing moves.
bool IsSkipped(const isa::DmaCopy& copy, CoreMemory& memory);

// The int32 a RegisterLoad or ScalarOffset reads.
std::int32_t ReadInt32(const isa::Operand& operand, CoreMemory& memory);

// Copies `src` of one core to `dst` of another (one direction of sendrecv).
void CopyAcross(const isa::Operand& src, CoreMemory& from, const isa::Operand& dst, CoreMemory& to);

}  // namespace bwmm::ops
