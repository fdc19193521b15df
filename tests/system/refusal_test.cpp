// The sequential executor and the machine, at every fidelity, refuse the same programs in the same
// words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ops/executor.h"
#include "model/support/sim_error.h"
#include "model/system/machine.h"
#include "tests/system/program_parts.h"

namespace bwmm {
namespace {

using isa::Operand;
using test::PsumTile;
using test::Rows;
using test::SbufTile;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr DType kBf16 = DType::kBf16;

struct Tensors {
  ops::Hbm hbm;
  ops::HbmTensor& a = hbm.Allocate("a", kBf16, {128, 64}, true);
  ops::HbmTensor& b = hbm.Allocate("b", kBf16, {128, 64}, true);
  ops::HbmTensor& numbers = hbm.Allocate("numbers", DType::kInt32, {8, 1}, true);
};

using Kernel = std::function<void(Tensors&, isa::Sink&)>;

template <typename F>
std::string ErrorOf(F run) {
  try {
    run();
  } catch (const SimError& error) {
    return error.what();
  }
  return "no error";
}

void ExpectRefusedEverywhere(const Kernel& kernel, const std::string& words,
                             const isa::Limits& limits = {}) {
  Tensors executor;
  const std::string expected = ErrorOf([&] {
    ops::RunSequentially(limits, executor.hbm, [&](isa::Sink& sink) { kernel(executor, sink); });
  });
  EXPECT_THAT(expected, HasSubstr(words));
  for (const Fidelity fidelity : {Fidelity::kTiming, Fidelity::kFast}) {
    for (const bool reverse : {false, true}) {
      Tensors machine;
      const std::string error = ErrorOf([&] {
        RunMachine(LoadMachine("trn3"), fidelity, machine.hbm,
                   [&](isa::Sink& sink) { kernel(machine, sink); }, {.build_in_reverse = reverse});
      });
      // A deadlock's wait graph follows.
      EXPECT_THAT(error, StartsWith(expected)) << NameOf(fidelity);
    }
  }
}

void Fill(isa::Sink& sink, const Operand& tile) {
  sink.Emit(isa::Engine::kVector, isa::Memset{.dst = tile, .value = 1.0f});
}

// Once: 64 rows were read from lanes nobody multiplied into, at each fidelity other ones.
TEST(Refusals, OfAMultiplyIntoOtherPartitionsThanItsWeights) {
  for (const std::int64_t partitions : {64, 128}) {
    ExpectRefusedEverywhere(
        [=](Tensors&, isa::Sink& sink) {
          const Operand w = SbufTile(kBf16, 0, 128, 192 - partitions);
          const Operand x = SbufTile(kBf16, 4096, 128, 32);
          Fill(sink, w);
          Fill(sink, x);
          sink.Emit(isa::Engine::kTensor, isa::LoadStationary{.stationary = w});
          sink.Emit(
              isa::Engine::kTensor,
              isa::MultiplyMoving{.dst = PsumTile(DType::kFp32, 0, partitions, 32), .moving = x});
        },
        fmt::format("instruction 3 (multiply_moving) on core 0: dst must have {} partitions",
                    192 - partitions));
  }
}

TEST(Refusals, OfAnotherContractionThanTheWeights) {
  ExpectRefusedEverywhere(
      [](Tensors&, isa::Sink& sink) {
        const Operand w = SbufTile(kBf16, 0, 64, 128), x = SbufTile(kBf16, 4096, 128, 32);
        Fill(sink, w);
        Fill(sink, x);
        sink.Emit(isa::Engine::kTensor, isa::LoadStationary{.stationary = w});
        sink.Emit(isa::Engine::kTensor,
                  isa::MultiplyMoving{.dst = PsumTile(DType::kFp32, 0, 128, 32), .moving = x});
      },
      "moving must have 64 partitions");
}

TEST(Refusals, OfATransposeIntoATooNarrowTile) {
  ExpectRefusedEverywhere(
      [](Tensors&, isa::Sink& sink) {
        const Operand src = SbufTile(kBf16, 0, 128, 64);
        Fill(sink, src);
        sink.Emit(isa::Engine::kTensor,
                  isa::LoadStationary{.mode = PeMode::kTranspose, .stationary = src});
        sink.Emit(isa::Engine::kTensor, isa::MultiplyMoving{.mode = PeMode::kTranspose,
                                                            .dst = PsumTile(kBf16, 0, 64, 100),
                                                            .moving = src});
      },
      "dst must have 128 elements per partition");
}

// HBM ends at 36 GiB; what lies between the last tensor and its end is refused the same way.
TEST(Refusals, OfAnAddressBeyondHbm) {
  for (const std::uint64_t address : {1ull << 20, 1ull << 40}) {
    for (const bool write : {false, true}) {
      ExpectRefusedEverywhere(
          [=](Tensors& t, isa::Sink& sink) {
            if (sink.core() != 1)
              return;
            const Operand tile = SbufTile(kBf16, 0, 1, 64);
            Operand beyond = Rows(t.a, 0, 1);
            beyond.offset = address;
            Fill(sink, tile);
            sink.Emit(isa::Engine::kSync,
                      isa::DmaCopy{.dst = write ? beyond : tile, .src = write ? tile : beyond});
          },
          fmt::format("instruction 1 (dma_copy) on core 1: hbm: access of 1 bytes at {:#x} runs "
                      "past tensor numbers",
                      address));
    }
  }
}

TEST(Refusals, OfARegisterThatNobodyLoads) {
  for (const std::uint32_t id : {0u, 1u, 7u}) {
    ExpectRefusedEverywhere(
        [=](Tensors& t, isa::Sink& sink) {
          if (sink.core() != 1)
            return;
          Fill(sink, SbufTile(kBf16, 0, 1, 64));
          sink.Emit(isa::Engine::kSync,
                    isa::DmaCopy{.dst = Rows(t.a, 0, 1), .src = SbufTile(kBf16, 0, 1, 64)});
          sink.Emit(isa::Engine::kSync, isa::RegisterLoad{.src = Rows(t.numbers, 0, 1)});
          sink.RegisterValue(id);
        },
        fmt::format("core 1: register_value of instruction {}, allowed that of a register_load",
                    id));
  }
}

TEST(Refusals, OfBarriersOnDifferentTensors) {
  ExpectRefusedEverywhere(
      [](Tensors& t, isa::Sink& sink) {
        sink.Emit(isa::Engine::kGpSimd,
                  isa::CoreBarrier{.data = Rows(sink.core() == 0 ? t.a : t.b, 0, 128)});
      },
      "core_barrier: core 0 instruction 0 names");
}

TEST(Refusals, OfPipesInOppositeOrder) {
  ExpectRefusedEverywhere(
      [](Tensors&, isa::Sink& sink) {
        Fill(sink, SbufTile(kBf16, 0, 128, 64));
        for (const int turn : {0, 1})
          sink.Emit(isa::Engine::kSync,
                    isa::SendRecv{.dst = SbufTile(kBf16, 4096 + 1024 * turn, 128, 64),
                                  .src = SbufTile(kBf16, 0, 128, 64),
                                  .peer = 1 - sink.core(),
                                  .pipe_id = turn ^ sink.core()});
      },
      "core 0 instruction 1 uses pipe 0, core 1 instruction 1 uses pipe 1");
}

TEST(Refusals, OfSendRecvsOfDifferentShapes) {
  ExpectRefusedEverywhere(
      [](Tensors&, isa::Sink& sink) {
        const Operand src = SbufTile(kBf16, 0, 128, 64 + 64 * sink.core());
        Fill(sink, src);
        Operand dst = src;
        dst.offset = 4096;
        sink.Emit(isa::Engine::kSync,
                  isa::SendRecv{.dst = dst, .src = src, .peer = 1 - sink.core()});
      },
      "sendrecv pipe 0: core 0 instruction 1 sends");
}

TEST(Refusals, OfAMeetingTheOtherCoreNeverReaches) {
  for (const int stays : {0, 1}) {
    ExpectRefusedEverywhere(
        [=](Tensors& t, isa::Sink& sink) {
          if (sink.core() == stays)
            sink.Emit(isa::Engine::kGpSimd, isa::CoreBarrier{.data = Rows(t.a, 0, 128)});
        },
        fmt::format("core {} instruction 0 (core_barrier) waits for core {}, which has ended",
                    stays, 1 - stays));
  }
}

TEST(Refusals, OfARace) {
  ExpectRefusedEverywhere(
      [](Tensors& t, isa::Sink& sink) {
        const Operand tile = SbufTile(kBf16, 0, 8, 64);
        sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = tile, .src = Rows(t.b, 0, 8)});
        sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = Rows(t.a, 3, 8), .src = tile});
      },
      "race on bytes 384..1407 of tensor a: core 0 instruction 1 (dma_copy) writes them, core 1 "
      "instruction 1 (dma_copy) writes them");
}

TEST(Refusals, OfARowOutOfBounds) {
  ExpectRefusedEverywhere(
      [](Tensors& t, isa::Sink& sink) {
        const Operand index = SbufTile(DType::kInt32, 0, 4, 1);
        if (sink.core() == 1)
          return;
        sink.Emit(isa::Engine::kGpSimd, isa::Iota{.dst = index, .base = 126, .partition_step = 1});
        isa::DmaCopy copy{.dst = SbufTile(kBf16, 4096, 4, 64), .src = Rows(t.a, 0, 4)};
        copy.gather = isa::VectorOffset{.index = index, .rows = 128, .row_stride = 64};
        sink.Emit(isa::Engine::kGpSimd, copy);
      },
      "instruction 1 (dma_copy) on core 0: lane 2: row index 128 is out of bounds");
}

// Reads of unwritten bytes need data, so timing cannot see them; the place is named in other terms.
TEST(Refusals, OfAnAccumulationIntoUnwrittenPsum) {
  const Kernel kernel = [](Tensors&, isa::Sink& sink) {
    const Operand w = SbufTile(kBf16, 0, 128, 128), x = SbufTile(kBf16, 4096, 128, 32);
    Fill(sink, w);
    Fill(sink, x);
    sink.Emit(isa::Engine::kTensor, isa::LoadStationary{.stationary = w});
    sink.Emit(isa::Engine::kTensor,
              isa::MultiplyMoving{
                  .dst = PsumTile(DType::kFp32, 0, 128, 32), .moving = x, .accumulate = true});
  };
  constexpr const char* kWords =
      "instruction 3 (multiply_moving) on core 0: accumulating dst reads bytes never written";
  Tensors executor, machine;
  EXPECT_THAT(ErrorOf([&] {
                ops::RunSequentially({}, executor.hbm,
                                     [&](isa::Sink& sink) { kernel(executor, sink); });
              }),
              StartsWith(kWords));
  EXPECT_THAT(ErrorOf([&] {
                RunMachine(LoadMachine("trn3"), Fidelity::kFast, machine.hbm,
                           [&](isa::Sink& sink) { kernel(machine, sink); });
              }),
              StartsWith(kWords));
}

// Two programs, one core each on a machine of one core: a barrier alone is passed.
TEST(Refusals, NotOfABarrierOnASingleCore) {
  const auto kernel = [](Tensors& t, isa::Sink& sink) {
    sink.Emit(isa::Engine::kGpSimd, isa::CoreBarrier{.data = Rows(t.a, 0, 128)});
  };
  MachineConfig machine = LoadMachine("trn3");
  machine.cores = 1;
  Tensors executor, fast;
  EXPECT_NO_THROW(ops::RunSequentially(LimitsOf(machine), executor.hbm,
                                       [&](isa::Sink& sink) { kernel(executor, sink); }));
  EXPECT_NO_THROW(
      RunMachine(machine, Fidelity::kFast, fast.hbm, [&](isa::Sink& sink) { kernel(fast, sink); }));
}

}  // namespace
}  // namespace bwmm
