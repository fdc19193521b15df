// quantize_mx and MX matmuls on both cores: bf16 in, two MX operands made on the machine, the
// product and a transpose of it out.
#pragma once

#include "model/isa/sink.h"
#include "tests/system/program_parts.h"

namespace bwmm::test {

inline constexpr int kMxColumns = 64;  // x4 words of the moving operand

struct MxTensors {
  ops::Hbm hbm;
  ops::HbmTensor& stationary;  // [256, 4 * 128] bf16, 128 rows per core
  ops::HbmTensor& moving;      // [256, 4 * kMxColumns] bf16
  ops::HbmTensor& product;     // [256, kMxColumns] fp32
  ops::HbmTensor& transposed;  // [2 * kMxColumns, 128] bf16

  explicit MxTensors(bool with_data)
      : stationary(hbm.Allocate("stationary", DType::kBf16, {256, 512}, with_data)),
        moving(hbm.Allocate("moving", DType::kBf16, {256, 4 * kMxColumns}, with_data)),
        product(hbm.Allocate("product", DType::kFp32, {256, kMxColumns}, with_data)),
        transposed(hbm.Allocate("transposed", DType::kBf16, {2 * kMxColumns, 128}, with_data)) {
    std::mt19937 random(7);
    FillBf16(stationary, random);
    FillBf16(moving, random);
  }
};

inline void MxProgram(MxTensors& t, isa::Sink& sink) {
  const int core = sink.core();
  const Operand wide = SbufTile(DType::kBf16, 0, 128, 512);
  const Operand narrow = SbufTile(DType::kBf16, 1024, 128, 4 * kMxColumns);
  const Operand w = SbufTile(DType::kFp8E4M3FnX4, 4096, 128, 128);
  const Operand x = SbufTile(DType::kFp8E5M2X4, 8192, 128, kMxColumns);
  const Operand w_scale = SbufTile(DType::kE8M0, 12288, 128, 128);
  const Operand x_scale = SbufTile(DType::kE8M0, 12288, 124, kMxColumns, 4);
  const Operand out = SbufTile(DType::kFp32, 16384, 128, kMxColumns);
  const Operand half = SbufTile(DType::kBf16, 20480, 128, kMxColumns);
  const Operand turned = SbufTile(DType::kBf16, 24576, kMxColumns, 128);
  const Operand acc = PsumTile(DType::kFp32, 2048, 128, kMxColumns);
  const Operand turned_acc = PsumTile(DType::kBf16, 4096, kMxColumns, 128);

  sink.Emit(Engine::kSync, isa::DmaCopy{.dst = wide, .src = Rows(t.stationary, 128 * core, 128)});
  sink.Emit(Engine::kSync, isa::DmaCopy{.dst = narrow, .src = Rows(t.moving, 128 * core, 128)});
  sink.Emit(Engine::kVector, isa::QuantizeMx{.dst = w, .dst_scale = w_scale, .src = wide});
  sink.Emit(
      Engine::kVector,
      isa::QuantizeMx{.dst = x, .dst_scale = x_scale, .src = narrow, .rule = ScaleRule::kOcp});
  for (const bool accumulate : {false, true}) {
    sink.Emit(Engine::kTensor,
              isa::LoadStationary{.mode = PeMode::kMx, .stationary = w, .scale = w_scale});
    sink.Emit(Engine::kTensor, isa::MultiplyMoving{.mode = PeMode::kMx,
                                                   .dst = acc,
                                                   .moving = x,
                                                   .scale = x_scale,
                                                   .accumulate = accumulate});
  }
  sink.Emit(Engine::kVector, isa::TensorCopy{.dst = out, .src = acc});
  sink.Emit(Engine::kScalar, isa::TensorCopy{.dst = half, .src = acc});
  sink.Emit(Engine::kTensor, isa::LoadStationary{.mode = PeMode::kTranspose, .stationary = half});
  sink.Emit(Engine::kTensor,
            isa::MultiplyMoving{.mode = PeMode::kTranspose, .dst = turned_acc, .moving = half});
  sink.Emit(Engine::kVector, isa::TensorCopy{.dst = turned, .src = turned_acc});
  sink.Emit(Engine::kSync, isa::DmaCopy{.dst = Rows(t.product, 128 * core, 128), .src = out});
  sink.Emit(Engine::kSync,
            isa::DmaCopy{.dst = Rows(t.transposed, kMxColumns * core, kMxColumns), .src = turned});
}

}  // namespace bwmm::test
