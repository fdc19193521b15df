// The machine against the sequential executor, against itself, and at its refusals.
#include "model/system/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <tuple>

#include "model/support/sim_error.h"
#include "model/system/listing.h"
#include "model/system/records.h"
#include "tests/system/error_of.h"
#include "tests/system/mx_program.h"
#include "tests/system/two_core_program.h"

namespace bwmm {
namespace {

using isa::Operand;
using test::ErrorOf;
using test::TwoCoreProgram;
using test::TwoCoreTensors;
using ::testing::HasSubstr;

RunResult RunProgram(TwoCoreTensors& tensors, Fidelity fidelity, const RunOptions& options = {},
                     const std::string& machine = "trn3") {
  return RunMachine(
      LoadMachine(machine), fidelity, tensors.hbm,
      [&](isa::Sink& sink) { TwoCoreProgram(tensors, sink); }, options);
}

TEST(Machine, GivesTheSequentialExecutorsBits) {
  TwoCoreTensors timed(true), sequential(true);
  RunProgram(timed, Fidelity::kFast);
  ops::RunSequentially(LimitsOf(LoadMachine("trn3")), sequential.hbm,
                       [&](isa::Sink& sink) { TwoCoreProgram(sequential, sink); });
  for (const char* name : {"y", "z"}) {
    const auto& data = timed.hbm.Find(name).data;
    EXPECT_TRUE(data == sequential.hbm.Find(name).data) << name;
    EXPECT_FALSE(
        std::all_of(data.begin(), data.end(), [](std::byte b) { return b == std::byte{}; }))
        << name << " is all zero";
  }
}

TEST(Machine, GivesTheSequentialExecutorsBitsInMx) {
  test::MxTensors timed(true), sequential(true);
  RunMachine(LoadMachine("trn3"), Fidelity::kFast, timed.hbm,
             [&](isa::Sink& sink) { test::MxProgram(timed, sink); });
  ops::RunSequentially(LimitsOf(LoadMachine("trn3")), sequential.hbm,
                       [&](isa::Sink& sink) { test::MxProgram(sequential, sink); });
  EXPECT_TRUE(timed.product.data == sequential.product.data);
  EXPECT_TRUE(timed.transposed.data == sequential.transposed.data);
}

TEST(Machine, TakesTheSameCyclesInTimingAndFast) {
  for (const char* machine : {"trn3", "trn2"}) {
    TwoCoreTensors with_data(true), without(false);
    Records fast_records, timing_records;
    const RunResult a =
        RunProgram(with_data, Fidelity::kFast, {.observers = {&fast_records}}, machine);
    const RunResult b =
        RunProgram(without, Fidelity::kTiming, {.observers = {&timing_records}}, machine);
    const auto fast = fast_records.Sorted(), timing = timing_records.Sorted();
    EXPECT_GT(a.cycles, 1000u);
    EXPECT_EQ(a.cycles, b.cycles) << machine;
    ASSERT_EQ(fast.size(), timing.size());
    EXPECT_TRUE(std::ranges::is_sorted(fast, {}, [](const InstructionRecord& record) {
      return std::tuple(record.end, record.core, record.id);
    }));
    for (std::size_t i = 0; i < fast.size(); ++i) {
      EXPECT_EQ(fast[i].id, timing[i].id);
      EXPECT_EQ(fast[i].start, timing[i].start) << fast[i].opcode << " " << fast[i].id;
      EXPECT_EQ(fast[i].end, timing[i].end) << fast[i].opcode << " " << fast[i].id;
    }
  }
}

TEST(Machine, RepeatsItsCyclesAndBits) {
  TwoCoreTensors first(true);
  const RunResult once = RunProgram(first, Fidelity::kFast);
  for (int i = 0; i < 20; ++i) {
    TwoCoreTensors again(true);
    const RunResult result = RunProgram(again, Fidelity::kFast);
    EXPECT_EQ(result.cycles, once.cycles);
    EXPECT_EQ(again.y.data, first.y.data);
  }
}

TEST(Machine, AccountsForEveryCycleAndByte) {
  TwoCoreTensors tensors(false);
  const RunResult result = RunProgram(tensors, Fidelity::kTiming);
  ASSERT_EQ(result.cores.size(), 2u);
  std::uint64_t instructions = 0;
  for (const CoreResult& core : result.cores) {
    for (const UnitResult& unit : core.units) {
      EXPECT_EQ(std::accumulate(unit.cycles.begin(), unit.cycles.end(), std::uint64_t{0}),
                result.cycles);
      EXPECT_GT(unit.busy(), 0u);
      instructions += unit.instructions;
    }
    EXPECT_EQ(core.moving_rows, 2u * test::kRounds * test::kColumns);
    EXPECT_EQ(core.multiply_adds, 2u * test::kRounds * test::kColumns * 128 * 128);
  }
  EXPECT_EQ(instructions, result.instructions);
  // By hand, per core: w, per round two index columns and the gathered rows (1 in 7 skipped), the
  // peer's rows; written: the scattered rows and z.
  const std::uint64_t row = test::kColumns * 2;
  std::uint64_t gathered = 0;
  for (int i = 0; i < test::kRounds * 128; ++i)
    gathered += i % 7 == 3 ? 0 : row;
  const std::uint64_t read = 128 * 128 * 2 + test::kRounds * 2 * 128 * 4 + gathered + 128 * row;
  const std::uint64_t written = test::kRounds * 128 * row + 128 * row * 2;
  EXPECT_EQ(result.hbm_read, 2 * read);
  EXPECT_EQ(result.hbm_write, 2 * written);
  EXPECT_EQ(result.sendrecv, 2 * test::kRounds * 128 * row);
}

TEST(Machine, WritesTheListingWhole) {
  TwoCoreTensors tensors(false);
  const std::string path = ::testing::TempDir() + "machine_listing.txt";
  Listing listing;
  const RunResult result = RunProgram(tensors, Fidelity::kTiming, {.observers = {&listing}});
  listing.WriteTo(path);
  std::ifstream file(path);
  std::string line;
  std::uint64_t lines = 0;
  while (std::getline(file, line))
    ++lines;
  EXPECT_EQ(lines, result.instructions);
}

TEST(Machine, DoesNotDependOnTheWindowWhenItIsLargeEnough) {
  TwoCoreTensors a(false), b(false);
  EXPECT_EQ(RunProgram(a, Fidelity::kTiming, {.window = 200}).cycles,
            RunProgram(b, Fidelity::kTiming, {.window = 65536}).cycles);
}

TEST(Machine, RunsToTheEndWithATinyWindow) {
  TwoCoreTensors tensors(true), other(true);
  RunProgram(tensors, Fidelity::kFast, {.window = 4});
  RunProgram(other, Fidelity::kFast);
  EXPECT_EQ(tensors.z.data, other.z.data);
}

TEST(Machine, RejectsADeadlockWithTheWaitGraph) {
  TwoCoreTensors tensors(false);
  const auto program = [&](isa::Sink& sink) {
    const auto tile = test::SbufTile(DType::kBf16, 0, 128, 64);
    sink.Emit(isa::Engine::kVector, isa::Memset{.dst = tile});
    sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = test::Rows(tensors.y, sink.core(), 1),
                                               .src = test::SbufTile(DType::kBf16, 0, 1, 256)});
    if (sink.core() == 0) {
      sink.Emit(isa::Engine::kGpSimd, isa::CoreBarrier{.data = test::Rows(tensors.y, 0, 8)});
      sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = test::SbufTile(DType::kBf16, 4096, 1, 256),
                                                 .src = test::Rows(tensors.y, 0, 1)});
      const auto id =
          sink.Emit(isa::Engine::kSync, isa::RegisterLoad{.src = test::Rows(tensors.rounds, 0, 1)});
      sink.RegisterValue(id);
    }
  };
  const std::string error =
      ErrorOf([&] { RunMachine(LoadMachine("trn3"), Fidelity::kTiming, tensors.hbm, program); });
  EXPECT_THAT(error, HasSubstr("deadlock at cycle"));
  EXPECT_THAT(error, HasSubstr("core 0 gpsimd: instruction 2 (core_barrier, gpsimd) waits for core "
                               "1, which has not reached core_barrier 0"));
  EXPECT_THAT(error, HasSubstr("core 0 dma: instruction 3 (dma_copy, dma) waits for instruction 2 "
                               "(core_barrier, gpsimd) to complete"));
  EXPECT_THAT(error, HasSubstr("core 1 kernel has emitted all its instructions"));
}

TEST(Machine, RejectsADeadlockOfAWaitingKernel) {
  TwoCoreTensors tensors(false);
  bool unwound = false;
  struct Flag {
    bool& set;
    ~Flag() { set = true; }
  };
  const auto program = [&](isa::Sink& sink) {
    if (sink.core() != 0)
      return;
    const Flag flag{unwound};
    sink.Emit(isa::Engine::kGpSimd, isa::CoreBarrier{.data = test::Rows(tensors.rounds, 0, 1)});
    const auto id =
        sink.Emit(isa::Engine::kSync, isa::RegisterLoad{.src = test::Rows(tensors.rounds, 0, 1)});
    sink.RegisterValue(id);
  };
  const std::string error =
      ErrorOf([&] { RunMachine(LoadMachine("trn3"), Fidelity::kTiming, tensors.hbm, program); });
  EXPECT_THAT(error, HasSubstr("core 0 kernel waits for the register of instruction 1"));
  EXPECT_TRUE(unwound) << "the kernel's stack was left behind";
}

TEST(Machine, RejectsAConfigThatNobodyFilled) {
  ops::Hbm hbm;
  MachineConfig config;
  EXPECT_THAT(ErrorOf([&] { RunMachine(config, Fidelity::kTiming, hbm, [](isa::Sink&) {}); }),
              HasSubstr("machine.generation: 0, allowed 2 to 4"));
  config = LoadMachine("trn3");
  config.dma.engine_mb_s = 0;
  EXPECT_THAT(ErrorOf([&] { RunMachine(config, Fidelity::kTiming, hbm, [](isa::Sink&) {}); }),
              HasSubstr("machine.dma.engine_mb_s: 0, allowed 1 to"));
}

TEST(Machine, RejectsMxOnTrn2) {
  TwoCoreTensors tensors(false);
  const std::string error = ErrorOf([&] {
    RunMachine(LoadMachine("trn2"), Fidelity::kTiming, tensors.hbm, [&](isa::Sink& sink) {
      sink.Emit(isa::Engine::kTensor,
                isa::LoadStationary{.mode = PeMode::kMx,
                                    .stationary = test::SbufTile(DType::kFp8E4M3FnX4, 0, 128, 128),
                                    .scale = test::SbufTile(DType::kE8M0, 8192, 128, 128)});
    });
  });
  EXPECT_THAT(error, HasSubstr("generation 4"));
}

TEST(Machine, RejectsWhatExecutionRefusesWithItsOwnText) {
  TwoCoreTensors tensors(true);
  test::FillInt32(tensors.targets, std::vector<std::int32_t>(test::kRounds * 128, 100000));
  EXPECT_THAT(ErrorOf([&] { RunProgram(tensors, Fidelity::kFast); }),
              HasSubstr("row index 100000 is out of bounds"));
}

TEST(Machine, RejectsAReadOfBytesNeverWritten) {
  TwoCoreTensors tensors(true);
  const std::string error = ErrorOf([&] {
    RunMachine(LoadMachine("trn3"), Fidelity::kFast, tensors.hbm, [&](isa::Sink& sink) {
      sink.Emit(isa::Engine::kVector,
                isa::TensorCopy{.dst = test::SbufTile(DType::kBf16, 0, 128, 64),
                                .src = test::SbufTile(DType::kBf16, 4096, 128, 64)});
    });
  });
  EXPECT_THAT(error, HasSubstr("at cycle"));
}

TEST(Machine, RejectsSendRecvOntoItsOwnSource) {
  TwoCoreTensors tensors(true);
  const std::string error = ErrorOf([&] {
    RunMachine(LoadMachine("trn3"), Fidelity::kFast, tensors.hbm, [&](isa::Sink& sink) {
      sink.Emit(isa::Engine::kSync, isa::SendRecv{.dst = test::SbufTile(DType::kBf16, 64, 128, 64),
                                                  .src = test::SbufTile(DType::kBf16, 0, 128, 64),
                                                  .peer = 1 - sink.core()});
    });
  });
  EXPECT_THAT(error, HasSubstr("src must not overlap dst"));
}

TEST(Machine, RejectsSendRecvOfDifferentShapes) {
  TwoCoreTensors tensors(true);
  const std::string error = ErrorOf([&] {
    RunMachine(LoadMachine("trn3"), Fidelity::kFast, tensors.hbm, [&](isa::Sink& sink) {
      const auto tile = test::SbufTile(DType::kBf16, 0, 128, 64 + 64 * sink.core());
      sink.Emit(isa::Engine::kVector, isa::Memset{.dst = tile});
      Operand dst = tile;
      dst.offset = 4096;
      sink.Emit(isa::Engine::kSync,
                isa::SendRecv{.dst = dst, .src = tile, .peer = 1 - sink.core()});
    });
  });
  EXPECT_THAT(error, HasSubstr("sendrecv pipe 0: core 0 instruction 1 sends"));
}

}  // namespace
}  // namespace bwmm
