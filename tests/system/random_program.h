// Random two-core programs on overlapping tiles: every pair of engines, DMA both ways, gathers,
// meetings. Both cores run the same sequence of opcodes; operands depend on the core.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "model/isa/sink.h"
#include "tests/system/program_parts.h"

namespace bwmm::test {

struct RandomTensors {
  static constexpr int kPhases = 4;
  static constexpr std::int64_t kColumns = 512;

  RandomTensors(unsigned seed, bool with_data)
      : seed(seed),
        source(hbm.Allocate("source", DType::kBf16, {256, kColumns}, with_data)),
        index(hbm.Allocate("index", DType::kInt32, {128, 1}, true)) {
    // Indices first: they are the same with and without data.
    std::mt19937 random(seed);
    std::vector<std::int32_t> rows;
    for (int i = 0; i < 128; ++i)
      rows.push_back(random() % 5 == 0 ? -1 : static_cast<std::int32_t>(random() % 256));
    FillInt32(index, rows);
    FillBf16(source, random);
    for (int p = 0; p < kPhases; ++p)
      outputs.push_back(
          &hbm.Allocate("out" + std::to_string(p), DType::kBf16, {256, kColumns}, with_data));
  }

  const unsigned seed;
  ops::Hbm hbm;
  ops::HbmTensor& source;
  ops::HbmTensor& index;
  std::vector<ops::HbmTensor*> outputs;  // one per phase
};

// One core's kernel.
class RandomKernel {
 public:
  RandomKernel(const RandomTensors& tensors, isa::Sink& sink)
      : t_(tensors),
        sink_(sink),
        core_(sink.core()),
        shared_(tensors.seed * 2 + 1),
        own_(tensors.seed * 1000 + core_) {}

  void Run() {
    constexpr int kSteps = 40;
    Prepare();
    for (ops::HbmTensor* out : t_.outputs) {
      for (int step = 0; step < kSteps; ++step)
        Step();
      sink_.Emit(Engine::kSync, isa::DmaCopy{.dst = Rows(*out, 128 * core_, 128),
                                             .src = SbufTile(kBf16, 0, 128, t_.kColumns)});
      sink_.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Rows(*out, 0, 256)});
      sink_.Emit(Engine::kSync, isa::DmaCopy{.dst = SbufTile(kBf16, 2048, 128, t_.kColumns),
                                             .src = Rows(*out, 128 * (1 - core_), 128)});
    }
  }

 private:
  static constexpr DType kBf16 = DType::kBf16;
  static constexpr std::uint64_t kIndexAt = 16384;

  static int Pick(std::mt19937& random, int count) { return static_cast<int>(random() % count); }

  // A tile somewhere in the first 4 KiB of each partition.
  Operand AnyTile(std::int64_t partitions, std::int64_t free) {
    const int places = static_cast<int>(128 / partitions);
    const int partition = Pick(own_, places) * static_cast<int>(partitions);
    return SbufTile(kBf16, Pick(own_, 48) * 64, partitions, free, partition);
  }
  Operand AnyPsum(std::int64_t free) {
    return PsumTile(DType::kFp32, Pick(own_, 4) * 1024, 128, free);
  }

  void Prepare() {
    sink_.Emit(Engine::kVector, isa::Memset{.dst = SbufTile(kBf16, 0, 128, 4096), .value = 0.5f});
    sink_.Emit(Engine::kSync, isa::DmaCopy{.dst = SbufTile(DType::kInt32, kIndexAt, 128, 1),
                                           .src = Rows(t_.index, 0, 128)});
    sink_.Emit(Engine::kSync, isa::DmaCopy{.dst = SbufTile(kBf16, 0, 128, t_.kColumns),
                                           .src = Rows(t_.source, 128 * core_, 128)});
    sink_.Emit(Engine::kVector,
               isa::Memset{.dst = PsumTile(DType::kFp32, 0, 128, 1536), .value = 1.0f});
  }

  void Step() {
    constexpr std::int64_t kPartitions[] = {32, 64, 128};
    constexpr std::int64_t kFree[] = {16, 64, 200};
    const std::int64_t partitions = kPartitions[Pick(shared_, 3)];
    const std::int64_t free = kFree[Pick(shared_, 3)];
    const Operand a = AnyTile(partitions, free), b = AnyTile(partitions, free);
    const Operand dst = AnyTile(partitions, free);
    const Operand column = AnyTile(128, 64);
    switch (Pick(shared_, 10)) {
      case 0:
        sink_.Emit(Engine::kVector,
                   isa::TensorTensor{.op = isa::AluOp::kMax, .dst = dst, .a = a, .b = b});
        return;
      case 1:
        sink_.Emit(Engine::kGpSimd,
                   isa::TensorTensor{.op = isa::AluOp::kMin, .dst = dst, .a = a, .b = b});
        return;
      case 2:
        sink_.Emit(Engine::kScalar,
                   isa::ActivationOp{.function = Activation::kSigmoid, .dst = dst, .src = a});
        return;
      case 3:
        return Matmul();
      case 4:
        sink_.Emit(Engine::kVector, isa::TensorCopy{.dst = column, .src = AnyPsum(64)});
        return;
      case 5:
        sink_.Emit(Engine::kScalar, isa::TensorCopy{.dst = AnyPsum(64), .src = column});
        return;
      case 6:
        sink_.Emit(Engine::kSync, isa::DmaCopy{.dst = Apart(dst, a), .src = a});
        return;
      case 7:
        return Gather(column);
      case 8:
        sink_.Emit(
            Engine::kSync,
            isa::SendRecv{
                .dst = Apart(dst, a), .src = a, .peer = 1 - core_, .pipe_id = Pick(shared_, 2)});
        return;
      default:
        sink_.Emit(Engine::kVector, isa::TensorScalar{.dst = dst, .src = a, .scalar0 = 0.75f});
    }
  }

  void Matmul() {
    sink_.Emit(Engine::kTensor, isa::LoadStationary{.stationary = AnyTile(128, 128)});
    for (int i = Pick(shared_, 3); i >= 0; --i)
      sink_.Emit(Engine::kTensor, isa::MultiplyMoving{.dst = AnyPsum(100),
                                                      .moving = AnyTile(128, 100),
                                                      .accumulate = Pick(own_, 2) == 0});
  }

  void Gather(const Operand& dst) {
    Operand src = Rows(t_.source, 0, 128);
    src.dims[0].size = 64;
    isa::DmaCopy gather{.dst = dst, .src = src};
    gather.gather = isa::VectorOffset{.index = SbufTile(DType::kInt32, kIndexAt, 128, 1),
                                      .rows = 256,
                                      .row_stride = t_.kColumns,
                                      .oob = isa::OutOfBounds::kSkip};
    sink_.Emit(Engine::kGpSimd, gather);
  }

  // A DMA's destination is not its source.
  Operand Apart(Operand dst, const Operand& src) {
    while (dst.offset < src.offset + src.span_bytes() && src.offset < dst.offset + dst.span_bytes())
      dst = AnyTile(src.partitions, src.free_size());
    return dst;
  }

  const RandomTensors& t_;
  isa::Sink& sink_;
  const int core_;
  std::mt19937 shared_;  // what both cores must agree on
  std::mt19937 own_;     // what may differ
};

inline void RandomProgram(const RandomTensors& tensors, isa::Sink& sink) {
  RandomKernel(tensors, sink).Run();
}

}  // namespace bwmm::test
