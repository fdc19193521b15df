// How fast the host simulates in timing fidelity: a program shaped like a MoE layer's inner loop,
// on both cores.
#include <gtest/gtest.h>

#include <chrono>

#include "model/system/machine.h"
#include "tests/system/program_parts.h"

namespace bwmm {
namespace {

using isa::Operand;
using test::PsumTile;
using test::Rows;
using test::SbufTile;

// Per step: two weight tiles by DMA, 16 matmuls, an activation, a vector instruction, a store.
void Layer(isa::Sink& sink, const ops::HbmTensor& weights, const ops::HbmTensor& out, int steps) {
  for (int s = 0; s < steps; ++s) {
    const std::uint64_t buffer = 32768 + (s % 4) * 4096;
    for (int half = 0; half < 2; ++half)
      sink.Emit(isa::Engine::kSync,
                isa::DmaCopy{.dst = SbufTile(DType::kBf16, buffer + half * 2048, 128, 1024),
                             .src = Rows(weights, s % 16 * 128, 128)});
    for (int k = 0; k < 16; ++k) {
      sink.Emit(
          isa::Engine::kTensor,
          isa::LoadStationary{.stationary = SbufTile(DType::kBf16, buffer + k * 256, 128, 128)});
      sink.Emit(isa::Engine::kTensor,
                isa::MultiplyMoving{.dst = PsumTile(DType::kFp32, (s % 8) * 2048, 128, 512),
                                    .moving = SbufTile(DType::kBf16, k * 1024, 128, 512),
                                    .accumulate = k != 0});
    }
    const Operand result = SbufTile(DType::kBf16, 65536 + (s % 4) * 1024, 128, 512);
    sink.Emit(
        isa::Engine::kScalar,
        isa::ActivationOp{.dst = result, .src = PsumTile(DType::kFp32, (s % 8) * 2048, 128, 512)});
    sink.Emit(isa::Engine::kVector, isa::TensorTensor{.dst = result, .a = result, .b = result});
    sink.Emit(
        isa::Engine::kSync,
        isa::DmaCopy{.dst = Rows(out, sink.core() * 2048 + s % 16 * 128, 128), .src = result});
  }
}

TEST(Speed, SimulatesTwoHundredThousandInstructionsInSeconds) {
  ops::Hbm hbm;
  const auto& weights = hbm.Allocate("weights", DType::kBf16, {2048, 1024}, false);
  const auto& out = hbm.Allocate("out", DType::kBf16, {4096, 512}, false);
  const auto start = std::chrono::steady_clock::now();
  const RunResult result = RunMachine(LoadMachine("trn3"), Fidelity::kTiming, hbm,
                                      [&](isa::Sink& sink) { Layer(sink, weights, out, 2800); });
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  EXPECT_GE(result.instructions, 200000u);
  EXPECT_LT(wall.count(), 15.0);
  std::printf("%llu instructions, %llu cycles, %.2f s, %.0f instructions/s\n",
              static_cast<unsigned long long>(result.instructions),
              static_cast<unsigned long long>(result.cycles), wall.count(),
              static_cast<double>(result.instructions) / wall.count());
}

}  // namespace
}  // namespace bwmm
