// Instructions as plain data. Kernels emit them into a sink; the sequential executor and the timed
// machine give them meaning. Names and semantics follow NKI's instruction set; one struct per
// instruction, one line of text each (text.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "model/isa/activation.h"
#include "model/isa/operand.h"
#include "model/isa/pe_mode.h"
#include "model/isa/scale_rule.h"

namespace bwmm::isa {

enum class Engine : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync };
inline constexpr int kEngines = 5;

enum class AluOp : std::uint8_t { kAdd, kSubtract, kMultiply, kMax, kMin, kIsEqual };

// A scalar operand: a constant, or one value per partition ([P, 1], widened to fp32).
using ScalarArg = std::variant<float, Operand>;

// nc_matmul, nc_matmul_mx and nc_transpose are a LoadStationary followed by a MultiplyMoving.
struct LoadStationary {
  PeMode mode = PeMode::kOrdinary;
  Operand stationary;                           // [K, M], SBUF
  std::optional<Operand> scale = std::nullopt;  // MX: quadrant layout, [.., M], SBUF
};

struct MultiplyMoving {
  PeMode mode = PeMode::kOrdinary;
  Operand dst;     // [M, N], PSUM
  Operand moving;  // [K, N], SBUF; transpose: the stationary operand again, unread
  std::optional<Operand> scale = std::nullopt;  // MX: quadrant layout, [.., N], SBUF
  bool accumulate = false;
};

// dst [P, F/4] x4 words and dst_scale (quadrant layout) from src [P, F], bf16 or fp16.
struct QuantizeMx {
  Operand dst;
  Operand dst_scale;
  Operand src;
  ScaleRule rule = ScaleRule::kX2;
};

// dst = function(src * scale + bias)
struct ActivationOp {
  Activation function = Activation::kIdentity;
  Operand dst;
  Operand src;
  float scale = 1.0f;
  std::optional<Operand> bias = std::nullopt;  // [P, 1]
};

// dst = a op b
struct TensorTensor {
  AluOp op = AluOp::kAdd;
  Operand dst;
  Operand a;
  Operand b;
};

// dst = (src op0 scalar0) op1 scalar1
struct TensorScalar {
  Operand dst;
  Operand src;
  AluOp op0 = AluOp::kMultiply;
  ScalarArg scalar0 = 1.0f;
  std::optional<AluOp> op1 = std::nullopt;
  ScalarArg scalar1 = 0.0f;
};

// dst = (data op0 scalar) op1 tensor
struct ScalarTensorTensor {
  Operand dst;
  Operand data;
  AluOp op0 = AluOp::kMultiply;
  ScalarArg scalar = 1.0f;
  AluOp op1 = AluOp::kAdd;
  Operand tensor;
};

// dst [P, 1] = reduction of src over its free dimensions
struct TensorReduce {
  AluOp op = AluOp::kAdd;
  Operand dst;
  Operand src;
};

struct TensorCopy {
  Operand dst;
  Operand src;
};

struct Memset {
  Operand dst;
  float value = 0.0f;
};

// dst[p, f] = base + p * partition_step + f * free_step (int32, GpSimd)
struct Iota {
  Operand dst;
  std::int32_t base = 0;
  std::int32_t partition_step = 0;
  std::int32_t free_step = 0;
};

enum class OutOfBounds : std::uint8_t { kError, kSkip };

// Row p of the HBM operand it belongs to is table row index[p]: the byte address is
// offset + index[p] * row_stride * element size. Out of bounds is an unsigned compare
// (index >= rows), so -1 is out of bounds; kSkip leaves that row of the destination untouched.
struct VectorOffset {
  Operand index;                // [P, 1], int32, SBUF
  std::int64_t rows = 0;        // table rows
  std::int64_t row_stride = 0;  // elements
  OutOfBounds oob = OutOfBounds::kError;
};

// The HBM operand it belongs to starts `index * stride` elements later; index must be < limit.
struct ScalarOffset {
  Operand index;            // one int32 in SBUF
  std::int64_t limit = 0;   // values 0..limit-1 are allowed
  std::int64_t stride = 0;  // elements
  OutOfBounds oob = OutOfBounds::kError;
};

// dst = src, element by element in row-major order; a dtype change goes through fp32. A source of
// one partition with dst.partitions > 1 is broadcast to all partitions.
struct DmaCopy {
  Operand dst;
  Operand src;
  std::optional<VectorOffset> gather = std::nullopt;   // rows of src
  std::optional<VectorOffset> scatter = std::nullopt;  // rows of dst
  std::optional<ScalarOffset> src_offset = std::nullopt;
  std::optional<ScalarOffset> dst_offset = std::nullopt;
};

// dst = sum of the sources, added left to right in fp32, rounded once to dst's type.
struct DmaCompute {
  Operand dst;
  std::vector<Operand> sources = {};
};

// This core's src goes to the peer's dst; the peer's src arrives in this core's dst.
struct SendRecv {
  Operand dst;
  Operand src;
  int peer = 0;
  int pipe_id = 0;
};

// Both cores reach it before either passes. Orders accesses to `data`, a shared HBM tensor, before
// and after it on each core.
struct CoreBarrier {
  Operand data;
};

// Loads one int32 into a sequencer register; the kernel reads its value through the sink.
struct RegisterLoad {
  Operand src;
};

using Body = std::variant<LoadStationary, MultiplyMoving, QuantizeMx, ActivationOp, TensorTensor,
                          TensorScalar, ScalarTensorTensor, TensorReduce, TensorCopy, Memset, Iota,
                          DmaCopy, DmaCompute, SendRecv, CoreBarrier, RegisterLoad>;

struct Instruction {
  std::uint32_t id = 0;  // per core, in program order from 0
  int core = 0;
  Engine engine = Engine::kTensor;
  Body body;
};

std::string_view NameOf(Engine engine);
std::string_view NameOf(AluOp op);
std::string_view OpcodeOf(const Instruction& instruction);  // "load_stationary", "dma_copy", ...

}  // namespace bwmm::isa
