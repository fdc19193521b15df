// A two-core program that uses every way work can depend on work: gather and scatter, matmul into
// PSUM, other engines, sendrecv, core_barrier, a register, and buffers used again and again.
#pragma once

#include <memory>

#include "model/isa/sink.h"
#include "tests/system/program_parts.h"

namespace bwmm::test {

inline constexpr int kRounds = 3;
inline constexpr int kColumns = 256;

struct TwoCoreTensors {
  ops::Hbm hbm;
  ops::HbmTensor& x;        // [512, kColumns] bf16, gathered from
  ops::HbmTensor& w;        // [128, 128] bf16
  ops::HbmTensor& index;    // [rounds * 128, 1] int32: rows of x, some out of bounds
  ops::HbmTensor& targets;  // [rounds * 128, 1] int32: rows of y, all different
  ops::HbmTensor& rounds;   // [1, 1] int32
  ops::HbmTensor& y;        // [2 * rounds * 128, kColumns] bf16
  ops::HbmTensor& z;        // [256, kColumns] fp32

  // Tensor data is random but for `seed`; without data only the indices are there.
  explicit TwoCoreTensors(bool with_data, unsigned seed = 1)
      : x(hbm.Allocate("x", DType::kBf16, {512, kColumns}, with_data)),
        w(hbm.Allocate("w", DType::kBf16, {128, 128}, with_data)),
        index(hbm.Allocate("index", DType::kInt32, {kRounds * 128, 1}, true)),
        targets(hbm.Allocate("targets", DType::kInt32, {kRounds * 128, 1}, true)),
        rounds(hbm.Allocate("rounds", DType::kInt32, {1, 1}, true)),
        y(hbm.Allocate("y", DType::kBf16, {2 * kRounds * 128, kColumns}, with_data)),
        z(hbm.Allocate("z", DType::kFp32, {256, kColumns}, with_data)) {
    // Indices first: they are the same with and without data.
    std::mt19937 random(seed);
    std::vector<std::int32_t> rows, places;
    for (int i = 0; i < kRounds * 128; ++i) {
      rows.push_back(i % 7 == 3 ? -1 : static_cast<std::int32_t>(random() % 512));
      places.push_back(kRounds * 128 - 1 - i);
    }
    FillInt32(index, rows);
    FillInt32(targets, places);
    FillInt32(rounds, {kRounds});
    FillBf16(x, random);
    FillBf16(w, random);
  }
};

inline void TwoCoreProgram(TwoCoreTensors& t, isa::Sink& sink) {
  const int core = sink.core();
  const DType bf16 = DType::kBf16;
  const Operand w = SbufTile(bf16, 0, 128, 128);
  const Operand index = SbufTile(DType::kInt32, 1024, 128, 1);
  const Operand target = SbufTile(DType::kInt32, 1088, 128, 1);
  const Operand x = SbufTile(bf16, 4096, 128, kColumns);
  const Operand mine = SbufTile(bf16, 8192, 128, kColumns);
  const Operand theirs = SbufTile(bf16, 12288, 128, kColumns);
  const Operand sum = SbufTile(bf16, 16384, 128, kColumns);
  const Operand half = SbufTile(DType::kFp32, 20480, 128, kColumns);
  const Operand back = SbufTile(bf16, 24576, 128, kColumns);
  const Operand acc = PsumTile(DType::kFp32, 0, 128, kColumns);

  const auto load = sink.Emit(Engine::kSync, isa::RegisterLoad{.src = Rows(t.rounds, 0, 1)});
  sink.Emit(Engine::kSync, isa::DmaCopy{.dst = w, .src = Rows(t.w, 0, 128)});
  const std::int32_t rounds = sink.RegisterValue(load);
  for (int r = 0; r < rounds; ++r) {
    sink.Emit(Engine::kSync, isa::DmaCopy{.dst = index, .src = Rows(t.index, r * 128, 128)});
    sink.Emit(Engine::kSync, isa::DmaCopy{.dst = target, .src = Rows(t.targets, r * 128, 128)});
    sink.Emit(Engine::kGpSimd, isa::TensorScalar{.dst = target,
                                                 .src = target,
                                                 .op0 = isa::AluOp::kAdd,
                                                 .scalar0 = 1.0f * core * kRounds * 128});
    sink.Emit(Engine::kVector, isa::Memset{.dst = x});
    isa::DmaCopy gather{.dst = x, .src = Rows(t.x, 0, 128)};
    gather.gather = isa::VectorOffset{
        .index = index, .rows = 512, .row_stride = kColumns, .oob = isa::OutOfBounds::kSkip};
    sink.Emit(Engine::kGpSimd, gather);
    sink.Emit(Engine::kTensor, isa::LoadStationary{.stationary = w});
    sink.Emit(Engine::kTensor, isa::MultiplyMoving{.dst = acc, .moving = x});
    sink.Emit(Engine::kTensor, isa::LoadStationary{.stationary = w});
    sink.Emit(Engine::kTensor, isa::MultiplyMoving{.dst = acc, .moving = x, .accumulate = true});
    sink.Emit(Engine::kScalar, isa::ActivationOp{.function = Activation::kSilu,
                                                 .dst = mine,
                                                 .src = acc,
                                                 .scale = core == 0 ? 0.5f : 0.25f});
    sink.Emit(Engine::kSync,
              isa::SendRecv{.dst = theirs, .src = mine, .peer = 1 - core, .pipe_id = 5});
    sink.Emit(Engine::kVector,
              isa::TensorTensor{.op = isa::AluOp::kSubtract, .dst = sum, .a = mine, .b = theirs});
    isa::DmaCopy scatter{.dst = Rows(t.y, 0, 128), .src = sum};
    scatter.scatter =
        isa::VectorOffset{.index = target, .rows = 2 * kRounds * 128, .row_stride = kColumns};
    sink.Emit(Engine::kGpSimd, scatter);
  }
  sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Rows(t.y, 0, 2 * kRounds * 128)});
  // Each core reads what the other one scattered.
  const int peer_first = (1 - core) * kRounds * 128;
  sink.Emit(Engine::kSync, isa::DmaCopy{.dst = back, .src = Rows(t.y, peer_first, 128)});
  sink.Emit(Engine::kVector, isa::TensorTensor{.dst = half, .a = back, .b = sum});
  isa::DmaCompute add{.dst = Rows(t.z, core * 128, 128)};
  add.sources = {half, back};
  sink.Emit(Engine::kSync, add);
}

}  // namespace bwmm::test
