// The Vector, Scalar and GpSimd engines' instructions: inputs widened to fp32, computed in fp32
// (RNE), rounded to the output type on write. When every tensor is int32 the arithmetic is exact
// 64-bit integer arithmetic that saturates to int32. A copy without a change of type moves bits.
#pragma once

#include "model/isa/instruction.h"
#include "model/ops/execute.h"

namespace bwmm::ops {

void Execute(const isa::ActivationOp& op, CoreMemory& memory);
void Execute(const isa::TensorTensor& op, CoreMemory& memory);
void Execute(const isa::TensorScalar& op, CoreMemory& memory);
void Execute(const isa::ScalarTensorTensor& op, CoreMemory& memory);
void Execute(const isa::TensorReduce& op, CoreMemory& memory);
void Execute(const isa::TensorCopy& op, CoreMemory& memory);
void Execute(const isa::Memset& op, CoreMemory& memory);
void Execute(const isa::Iota& op, CoreMemory& memory);
void Execute(const isa::QuantizeMx& op, CoreMemory& memory);
void Execute(const isa::Max8& op, CoreMemory& memory);

}  // namespace bwmm::ops
