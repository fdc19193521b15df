// Cycle counts of small programs against closed forms, and of long ones against the peak.
#include <gtest/gtest.h>

#include "model/system/machine.h"
#include "tests/system/program_parts.h"

namespace bwmm {
namespace {

using isa::Operand;
using test::PsumTile;
using test::Rows;
using test::SbufTile;

constexpr double kTicksPerNs = 4.8;  // trn3: twice 2400 MHz

using Settings = std::vector<std::pair<std::string, std::string>>;

std::uint64_t Cycles(const std::function<void(isa::Sink&)>& program, ops::Hbm& hbm,
                     const Settings& settings = {}, RunResult* result = nullptr) {
  MachineConfig config = LoadMachine("trn3");
  for (const auto& [key, value] : settings)
    ApplySetting(config, key, value);
  const RunResult run = RunMachine(config, Fidelity::kTiming, hbm, [&](isa::Sink& sink) {
    if (sink.core() == 0)
      program(sink);
  });
  if (result != nullptr)
    *result = run;
  return run.cycles;
}

// Nanoseconds to TensorEngine cycles of trn3.
double FromNs(double ns) {
  return ns * kTicksPerNs / 2;
}

TEST(DmaTiming, CostsGeneratorStartTransferLatencyAndCompletion) {
  ops::Hbm hbm;
  const auto& x = hbm.Allocate("x", DType::kBf16, {128, 4096}, false);
  for (const std::int64_t columns : {32, 512, 2048}) {
    const auto cycles = Cycles(
        [&](isa::Sink& sink) {
          Operand src = Rows(x, 0, 128);
          src.dims[0].size = columns;
          sink.Emit(isa::Engine::kSync,
                    isa::DmaCopy{.dst = SbufTile(DType::kBf16, 0, 128, columns), .src = src});
        },
        hbm);
    // 16 engines, 8 partitions and 8 descriptors each; the last starts 15 steps behind the first.
    const double ns = 600 + 400 + 15 * 24 + 8.0 * (columns * 2 + 64) / 33 + 100 + 170;
    EXPECT_NEAR(static_cast<double>(cycles), FromNs(ns), 3) << columns;
  }
}

TEST(DmaTiming, HasADescriptorGeneratorForEachOfTwoSequencers) {
  ops::Hbm hbm;
  const auto& x = hbm.Allocate("x", DType::kBf16, {128, 64}, false);
  const auto run = [&](int copies, isa::Engine odd) {
    return static_cast<double>(Cycles(
        [&](isa::Sink& sink) {
          for (int i = 0; i < copies; ++i)
            sink.Emit(
                i % 2 == 0 ? isa::Engine::kSync : odd,
                isa::DmaCopy{.dst = SbufTile(DType::kBf16, 128 * i, 8, 64), .src = Rows(x, 0, 8)});
        },
        hbm));
  };
  // The 20th waits for nineteen others on Sync's; or for nine, and then for the 19th at the engine.
  const double one = run(1, isa::Engine::kSync);
  EXPECT_NEAR(run(20, isa::Engine::kSync) - one, FromNs(19 * 600), 3);
  EXPECT_NEAR(run(20, isa::Engine::kScalar) - one, FromNs(9 * 600 + 8.0 * (128 + 64) / 33), 3);
}

// Bytes per ns of so many copies of 1 MiB, one after another.
double RateOfCopies(int copies, const Settings& settings = {}) {
  ops::Hbm hbm;
  const auto& x = hbm.Allocate("x", DType::kBf16, {128, 4096}, false);
  const auto cycles = Cycles(
      [&](isa::Sink& sink) {
        for (int i = 0; i < copies; ++i)
          sink.Emit(isa::Engine::kSync,
                    isa::DmaCopy{.dst = SbufTile(DType::kBf16, (i % 8) * 8192, 128, 4096),
                                 .src = Rows(x, 0, 128)});
      },
      hbm, settings);
  return copies * 128.0 * 8192 / (static_cast<double>(cycles) / 2.4);
}

TEST(DmaTiming, ReachesItsPeakOnALongStream) {
  const double rate = RateOfCopies(200);
  EXPECT_GE(rate, 0.9 * 16 * 33);
  EXPECT_LE(rate, 16 * 33);
}

TEST(DmaTiming, IsBoundByHbmWhenHbmIsSlower) {
  const double rate = RateOfCopies(100, {{"machine.hbm.bandwidth_mb_s", "100000"}});
  EXPECT_GE(rate, 90);
  EXPECT_LE(rate, 100);
}

TEST(DmaTiming, LetsIndependentCopiesOvertakeAWaitingOne) {
  ops::Hbm hbm;
  const auto& x = hbm.Allocate("x", DType::kBf16, {128, 64}, false);
  const auto cycles = Cycles(
      [&](isa::Sink& sink) {
        const Operand slow = SbufTile(DType::kFp32, 0, 8, 16384);
        sink.Emit(isa::Engine::kVector, isa::Memset{.dst = slow});
        isa::DmaCopy waits{.dst = Rows(x, 0, 8), .src = slow};
        waits.src.dims[0].size = 64;
        sink.Emit(isa::Engine::kSync, waits);
        sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = SbufTile(DType::kBf16, 131072, 8, 64),
                                                   .src = Rows(x, 64, 8)});
        sink.Emit(isa::Engine::kScalar,
                  isa::TensorCopy{.dst = SbufTile(DType::kBf16, 135168, 8, 64),
                                  .src = SbufTile(DType::kBf16, 131072, 8, 64)});
      },
      hbm);
  // memset 16384 vector cycles, then one DMA: the other chain hides behind it.
  const double memset_ns = (16384 + 144) / 1.2;
  EXPECT_NEAR(static_cast<double>(cycles),
              FromNs(memset_ns + 30 + 600 + 400 + 8.0 * (256 + 64) / 33 + 100 + 170), 6);
}

TEST(DmaTiming, ServesPartsThatArriveAtABusyEngine) {
  ops::Hbm hbm;
  const auto cycles = Cycles(
      [&](isa::Sink& sink) {
        // The third copy has to wait for a generator, and finds its engine busy with the first.
        for (int i = 0; i < 3; ++i) {
          const int partition = i == 1 ? 8 : 0;
          sink.Emit(isa::Engine::kSync,
                    isa::DmaCopy{.dst = SbufTile(DType::kBf16, 65536 * (i + 1), 8, 8192, partition),
                                 .src = SbufTile(DType::kBf16, 0, 8, 8192, partition)});
        }
      },
      hbm);
  EXPECT_NEAR(static_cast<double>(cycles), FromNs(600 + 400 + 2 * 8.0 * (16384 + 64) / 33 + 170),
              4);
}

TEST(EngineTiming, PipelinesIndependentInstructionsAndDelaysDependentOnes) {
  ops::Hbm hbm;
  const auto run = [&](bool dependent) {
    return Cycles(
        [&](isa::Sink& sink) {
          for (int i = 0; i < 10; ++i) {
            const int from = dependent ? i : 100 + i;
            sink.Emit(isa::Engine::kVector,
                      isa::TensorCopy{.dst = SbufTile(DType::kFp32, (i + 1) * 256, 128, 64),
                                      .src = SbufTile(DType::kFp32, from * 256, 128, 64)});
          }
        },
        hbm);
  };
  // VectorEngine cycles are two TensorEngine cycles each.
  EXPECT_EQ(run(false), 2u * (10 * 64 + 144));
  EXPECT_EQ(run(true), 2u * (10 * (64 + 144)));
}

TEST(EngineTiming, AddsTheSemaphoreBetweenEngines) {
  ops::Hbm hbm;
  const auto cycles = Cycles(
      [&](isa::Sink& sink) {
        sink.Emit(isa::Engine::kVector, isa::Memset{.dst = SbufTile(DType::kFp32, 0, 128, 64)});
        sink.Emit(isa::Engine::kScalar,
                  isa::TensorCopy{.dst = SbufTile(DType::kFp32, 4096, 128, 64),
                                  .src = SbufTile(DType::kFp32, 0, 128, 64)});
      },
      hbm);
  // 30 ns are 72 TensorEngine cycles.
  EXPECT_EQ(cycles, 2u * (64 + 144) + 72 + 2u * (64 + 200));
}

// A stream of matmuls on resident operands, PSUM banks in turn.
double TeraFlops(PeMode mode, DType dtype, int lanes) {
  ops::Hbm hbm;
  const int matmuls = 400;
  RunResult result;
  Cycles(
      [&](isa::Sink& sink) {
        const int bytes = SizeOf(dtype);
        const auto tile = [&](std::uint64_t offset, std::int64_t columns) {
          Operand operand = SbufTile(dtype, offset, 128, columns);
          if (mode == PeMode::kDoubleRow) {
            operand.rank = 2;
            operand.dims[1] = {.size = columns, .stride = 1};
            operand.dims[0] = {.size = 2, .stride = columns};
          }
          return operand;
        };
        std::optional<Operand> weight_scale, moving_scale;
        if (mode == PeMode::kMx) {
          weight_scale = SbufTile(DType::kE8M0, 65536, 128, 128);
          moving_scale = SbufTile(DType::kE8M0, 65536 + 512, 128, 512);
        }
        for (int i = 0; i < matmuls; ++i) {
          sink.Emit(isa::Engine::kTensor,
                    isa::LoadStationary{.mode = mode,
                                        .stationary = tile((i % 4) * 128 * bytes, 128),
                                        .scale = weight_scale});
          sink.Emit(isa::Engine::kTensor,
                    isa::MultiplyMoving{.mode = mode,
                                        .dst = PsumTile(DType::kFp32, (i / 4 % 8) * 2048, 128, 512),
                                        .moving = tile(8192, 512),
                                        .scale = moving_scale,
                                        .accumulate = i % 4 != 0});
        }
      },
      hbm, {}, &result);
  const double flops = 2.0 * matmuls * 128 * 128 * 512 * lanes;
  EXPECT_EQ(2.0 * static_cast<double>(result.cores[0].multiply_adds), flops);
  return flops / result.seconds_modelled / 1e12;
}

TEST(ArrayPeak, ReachesBf16Peak) {
  const double teraflops = TeraFlops(PeMode::kOrdinary, DType::kBf16, 1);
  EXPECT_GE(teraflops, 0.95 * 78.6);
  EXPECT_LE(teraflops, 78.65);
  RecordProperty("tflops", std::to_string(teraflops));
}

TEST(ArrayPeak, ReachesTheFp8PeakWithDoubleRows) {
  const double teraflops = TeraFlops(PeMode::kDoubleRow, DType::kFp8E5M2, 2);
  EXPECT_GE(teraflops, 0.95 * 158);
  EXPECT_LE(teraflops, 158);
  RecordProperty("tflops", std::to_string(teraflops));
}

TEST(ArrayPeak, ReachesMxPeak) {
  const double teraflops = TeraFlops(PeMode::kMx, DType::kFp8E4M3FnX4, 4);
  EXPECT_GE(teraflops, 0.95 * 314.6);
  EXPECT_LE(teraflops, 314.6);
  RecordProperty("tflops", std::to_string(teraflops));
}

}  // namespace
}  // namespace bwmm
