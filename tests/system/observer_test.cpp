// What observers are told: every event of a small program, in order; each instruction once; every
// byte, tick and dependence; and that a run does not notice them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "model/ops/executor.h"
#include "model/ops/observers.h"
#include "model/system/machine.h"
#include "tests/system/recorder.h"
#include "tests/system/two_core_program.h"

namespace bwmm {
namespace {

using isa::Engine;
using isa::Gate;
using ops::Cause;
using test::Recorder;
using test::Rows;
using test::SbufTile;
using test::TwoCoreTensors;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr DType kBf16 = DType::kBf16;

MachineConfig MachineOf(int cores) {
  MachineConfig machine = LoadMachine("trn3");
  machine.cores = cores;
  return machine;
}

RunResult RunTwoCores(TwoCoreTensors& tensors, Fidelity fidelity,
                      std::vector<ops::Observer*> observers) {
  return RunMachine(MachineOf(2), fidelity, tensors.hbm,
                    [&](isa::Sink& sink) { test::TwoCoreProgram(tensors, sink); },
                    {.observers = observers});
}

// Writes 16 partitions of a tile, copies them, stores them: 8 partitions to a DMA engine.
void StoreProgram(ops::HbmTensor& table, isa::Sink& sink) {
  const auto a = SbufTile(kBf16, 0, 16, 64), b = SbufTile(kBf16, 256, 16, 64);
  sink.Allocated(isa::Memory::kSbuf, 0, 128, "a");
  sink.Emit(Engine::kVector, isa::Memset{.dst = a, .value = 1.0f});
  sink.Allocated(isa::Memory::kSbuf, 256, 128, "b");
  sink.Emit(Engine::kVector, isa::TensorCopy{.dst = b, .src = a});
  sink.Emit(Engine::kSync, isa::DmaCopy{.dst = Rows(table, 0, 16), .src = b});
  sink.Freed(isa::Memory::kSbuf, 256);
}

TEST(Observer, IsToldEveryEventOfASmallProgramInOrder) {
  ops::Hbm hbm;
  ops::HbmTensor& table = hbm.Allocate("table", kBf16, {16, 64}, true);
  Recorder recorder;
  RunMachine(MachineOf(1), Fidelity::kFast, hbm,
             [&](isa::Sink& sink) { StoreProgram(table, sink); }, {.observers = {&recorder}});
  EXPECT_EQ(recorder.beginning.cores, 1);
  EXPECT_THAT(recorder.lines,
              ElementsAre("a before 0: allocated 0..127", "0 memset emitted on vector",
                          "b before 1: allocated 256..383", "1 tensor_copy emitted on vector",
                          "1 waits for 0: read after write", "2 dma_copy emitted on dma",
                          "2 waits for 1: read after write, semaphore", "before 3: freed 256",
                          "0 memset started on vector", "0 memset reads on vector",
                          "0 memset completed on vector", "1 tensor_copy started on vector",
                          "1 tensor_copy reads on vector", "1 tensor_copy completed on vector",
                          "2 dma_copy started on dma", "2 part: engine 0, 1024 bytes",
                          "2 part: engine 1, 1024 bytes", "2 dma_copy reads on dma",
                          "2 dma_copy completed on dma"));
}

TEST(Observer, IsToldByTheExecutorWithoutTime) {
  ops::Hbm hbm;
  ops::HbmTensor& table = hbm.Allocate("table", kBf16, {16, 64}, true);
  Recorder recorder;
  const std::vector<ops::Observer*> observers = {&recorder};
  ops::RunSequentially(
      {.cores = 1}, hbm, [&](isa::Sink& sink) { StoreProgram(table, sink); }, true, observers);
  EXPECT_EQ(recorder.beginning.clock.ticks_per_us, 0u);
  EXPECT_THAT(recorder.lines,
              ElementsAre("a before 0: allocated 0..127", "0 memset emitted on vector",
                          "0 memset reads on vector", "0 memset completed on vector",
                          "b before 1: allocated 256..383", "1 tensor_copy emitted on vector",
                          "1 tensor_copy reads on vector", "1 tensor_copy completed on vector",
                          "2 dma_copy emitted on dma", "2 dma_copy reads on dma",
                          "2 dma_copy completed on dma", "before 3: freed 256"));
}

TEST(Observer, SeesEveryInstructionOfACoreOncePerStep) {
  TwoCoreTensors tensors(true);
  Recorder recorder;
  const RunResult result = RunTwoCores(tensors, Fidelity::kFast, {&recorder});
  std::map<std::tuple<std::string, int, std::uint32_t>, ops::Ticks> at;
  std::map<std::string, std::uint64_t> count;
  for (const Recorder::Seen& seen : recorder.seen) {
    EXPECT_TRUE(at.emplace(std::tuple(seen.what, seen.core, seen.id), seen.at).second)
        << seen.what << " core " << seen.core << " instruction " << seen.id;
    ++count[seen.what];
  }
  for (const char* what : {"emitted", "reads", "started", "completed"})
    EXPECT_EQ(count[what], result.instructions) << what;
  // A gather and a scatter per round and core.
  EXPECT_EQ(count["descriptors"], 2u * 2u * test::kRounds);
  for (int core = 0; core < 2; ++core) {
    for (std::uint32_t id = 0; id < result.cores[core].instructions; ++id) {
      EXPECT_LE(at.at({"emitted", core, id}), at.at({"started", core, id}));
      EXPECT_LE(at.at({"started", core, id}), at.at({"completed", core, id}));
    }
  }
}

// One that is skipped moves nothing and is started all the same.
TEST(Observer, SeesACopyThatMovesNothing) {
  ops::Hbm hbm;
  ops::HbmTensor& table = hbm.Allocate("table", kBf16, {16, 64}, true);
  Recorder recorder;
  RunMachine(MachineOf(1), Fidelity::kFast, hbm,
             [&](isa::Sink& sink) {
               const auto index = SbufTile(DType::kInt32, 4096, 1, 1);
               sink.Emit(Engine::kGpSimd, isa::Iota{.dst = index, .base = 1000});
               isa::DmaCopy copy{.dst = SbufTile(kBf16, 0, 4, 64), .src = Rows(table, 0, 4)};
               copy.src_offset = isa::ScalarOffset{
                   .index = index, .limit = 12, .stride = 64, .oob = isa::OutOfBounds::kSkip};
               sink.Emit(Engine::kSync, copy);
             },
             {.observers = {&recorder}});
  EXPECT_THAT(recorder.parts, IsEmpty());
  EXPECT_THAT(recorder.lines, testing::Contains("1 dma_copy started on dma"));
}

TEST(Observer, PartsAddUpToTheBytesOfTheRun) {
  TwoCoreTensors tensors(false);
  Recorder recorder;
  const RunResult result = RunTwoCores(tensors, Fidelity::kTiming, {&recorder});
  for (int core = 0; core < 2; ++core) {
    std::int64_t read = 0, written = 0, descriptors = 0;
    ops::Ticks busy = 0;
    for (const ops::MovedPart& part : recorder.parts) {
      if (part.core != core)
        continue;
      read += part.hbm_read;
      written += part.hbm_write;
      descriptors += part.descriptors;
      busy += part.to - part.from;
      EXPECT_LT(part.engine, 16);
    }
    const CoreResult& expected = result.cores[core];
    EXPECT_EQ(static_cast<std::uint64_t>(read), expected.hbm_read);
    EXPECT_EQ(static_cast<std::uint64_t>(written), expected.hbm_write);
    EXPECT_EQ(static_cast<std::uint64_t>(descriptors), expected.dma_descriptors);
    EXPECT_EQ(recorder.beginning.clock.Cycles(busy), expected.dma_engine_cycles);
  }
}

TEST(Observer, UnitsTimeHasNoHoleAndAddsUpToTheClasses) {
  TwoCoreTensors tensors(false);
  Recorder recorder;
  const RunResult result = RunTwoCores(tensors, Fidelity::kTiming, {&recorder});
  std::map<std::pair<int, Unit>, ops::Ticks> until;
  std::map<std::tuple<int, Unit, TimeClass>, ops::Ticks> spent;
  for (const ops::Spending& each : recorder.spendings) {
    EXPECT_EQ(each.from, (until[{each.core, each.unit}]));
    until[{each.core, each.unit}] = each.to;
    spent[{each.core, each.unit, each.time_class}] += each.to - each.from;
  }
  for (int core = 0; core < 2; ++core) {
    for (int u = 0; u < units::kUnits; ++u) {
      const auto unit = static_cast<Unit>(u);
      EXPECT_EQ(recorder.beginning.clock.Cycles(until[{core, unit}]), result.cycles);
      // Classes are rounded to cycles together.
      ops::Ticks ticks = 0;
      std::uint64_t before = 0;
      for (int c = 0; c < units::kTimeClasses; ++c) {
        ticks += spent[{core, unit, static_cast<TimeClass>(c)}];
        const std::uint64_t cycles = recorder.beginning.clock.Cycles(ticks);
        EXPECT_EQ(cycles - before, result.cores[core].units[u].cycles[c]);
        before = cycles;
      }
    }
  }
}

TEST(Observer, QueuesFillAndDrain) {
  TwoCoreTensors tensors(false);
  Recorder recorder;
  RunTwoCores(tensors, Fidelity::kTiming, {&recorder});
  std::map<std::pair<int, std::string>, std::int64_t> last, most;
  for (const ops::Count& count : recorder.counts) {
    const std::pair key(count.core, std::string(count.name));
    EXPECT_GE(count.value, 0) << count.name;
    EXPECT_EQ(std::abs(count.value - last[key]), 1) << count.name;
    last[key] = count.value;
    most[key] = std::max(most[key], count.value);
  }
  EXPECT_EQ(last.size(), 2u * 8u) << "six queues, dma.parts and in_flight on two cores";
  for (const auto& [key, value] : last) {
    EXPECT_EQ(value, 0) << key.second;
    EXPECT_GT(most[key], 0) << key.second;
  }
}

// Ids of one core's program, by hand:
//
//   0 register_load   1 dma t <- table   2 memset s   3 sendrecv d <- s   4 tensor_tensor u = t + d
//   5 memset s again  6 core_barrier     7 dma table <- u
TEST(Observer, DependencesAreThoseOfTheProgram) {
  ops::Hbm hbm;
  ops::HbmTensor& table = hbm.Allocate("table", kBf16, {64, 64}, true);
  ops::HbmTensor& number = hbm.Allocate("number", DType::kInt32, {1, 1}, true);
  Recorder recorder;
  RunMachine(MachineOf(2), Fidelity::kFast, hbm,
             [&](isa::Sink& sink) {
               const int core = sink.core();
               const auto t = SbufTile(kBf16, 0, 16, 64), s = SbufTile(kBf16, 256, 16, 64);
               const auto d = SbufTile(kBf16, 512, 16, 64), u = SbufTile(kBf16, 768, 16, 64);
               const auto load =
                   sink.Emit(Engine::kSync, isa::RegisterLoad{.src = Rows(number, 0, 1)});
               sink.RegisterValue(load);
               sink.Emit(Engine::kSync, isa::DmaCopy{.dst = t, .src = Rows(table, 16 * core, 16)});
               sink.Emit(Engine::kVector, isa::Memset{.dst = s});
               sink.Emit(Engine::kSync, isa::SendRecv{.dst = d, .src = s, .peer = 1 - core});
               sink.Emit(Engine::kVector, isa::TensorTensor{.dst = u, .a = t, .b = d});
               sink.Emit(Engine::kGpSimd, isa::Memset{.dst = s});
               sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Rows(table, 0, 64)});
               sink.Emit(Engine::kSync, isa::DmaCopy{.dst = Rows(table, 16 * core, 16), .src = u});
             },
             {.observers = {&recorder}});
  for (int core = 0; core < 2; ++core) {
    std::vector<ops::Dependence> found;
    for (ops::Dependence each : recorder.dependences) {
      each.at = 0;
      if (each.core == core)
        found.push_back(each);
    }
    const auto edge = [core](std::uint32_t id, std::uint32_t on, Cause cause, bool semaphore) {
      return ops::Dependence{core, id, core, on, cause, Gate::kStart, semaphore};
    };
    const auto meeting = [core](std::uint32_t id) {
      return ops::Dependence{core, id, 1 - core, id, Cause::kMeeting};
    };
    EXPECT_THAT(
        found,
        testing::UnorderedElementsAre(
            edge(1, 0, Cause::kRegister, false), edge(3, 2, Cause::kReadAfterWrite, true),
            edge(4, 1, Cause::kReadAfterWrite, true), edge(4, 3, Cause::kReadAfterWrite, true),
            edge(5, 2, Cause::kWriteAfterWrite, true), edge(5, 3, Cause::kWriteAfterRead, true),
            edge(6, 1, Cause::kWriteAfterRead, true), edge(7, 4, Cause::kReadAfterWrite, true),
            edge(7, 6, Cause::kWriteAfterWrite, true), meeting(3), meeting(6)))
        << "core " << core;
  }
}

TEST(Observer, ABarrierIsAnEdgeBetweenAnyTwoCores) {
  ops::Hbm hbm;
  ops::HbmTensor& table = hbm.Allocate("table", kBf16, {64, 64}, true);
  Recorder recorder;
  RunMachine(MachineOf(4), Fidelity::kFast, hbm,
             [&](isa::Sink& sink) {
               sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Rows(table, 0, 64)});
             },
             {.observers = {&recorder}});
  std::vector<std::pair<int, int>> edges, all;
  for (const ops::Dependence& each : recorder.dependences)
    edges.emplace_back(each.core, each.on_core);
  for (int core = 0; core < 4; ++core) {
    for (int on = 0; on < 4; ++on) {
      if (on != core)
        all.emplace_back(core, on);
    }
  }
  EXPECT_THAT(edges, testing::UnorderedElementsAreArray(all));
}

TEST(Observer, ChangesNothing) {
  TwoCoreTensors alone(true), watched(true);
  Recorder recorder;
  const RunResult a = RunTwoCores(alone, Fidelity::kFast, {});
  const RunResult b = RunTwoCores(watched, Fidelity::kFast, {&recorder});
  EXPECT_FALSE(recorder.lines.empty());
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_TRUE(alone.y.data == watched.y.data);
  EXPECT_TRUE(alone.z.data == watched.z.data);
  for (int core = 0; core < 2; ++core) {
    for (int unit = 0; unit < units::kUnits; ++unit)
      EXPECT_EQ(a.cores[core].units[unit].cycles, b.cores[core].units[unit].cycles);
  }
}

TEST(Observer, IsToldTheSameInTimingAndFast) {
  TwoCoreTensors with_data(true), without(false);
  Recorder fast, timing;
  RunTwoCores(with_data, Fidelity::kFast, {&fast});
  RunTwoCores(without, Fidelity::kTiming, {&timing});
  EXPECT_THAT(timing.lines, ElementsAreArray(fast.lines));
}

TEST(Observer, IsToldOnlyWhatItWants) {
  struct Choosy final : ops::Observer {
    bool Wants(ops::Event event) const override { return event == ops::Event::kCompleted; }
    void Emitted(const ops::Emission&) override { ++others; }
    void Started(const ops::Start&) override { ++others; }
    void Completed(const ops::Completion&) override { ++completed; }
    std::uint64_t completed = 0, others = 0;
  } choosy;
  Recorder recorder;
  TwoCoreTensors tensors(false);
  const RunResult result = RunTwoCores(tensors, Fidelity::kTiming, {&choosy, &recorder});
  EXPECT_EQ(choosy.completed, result.instructions);
  EXPECT_EQ(choosy.others, 0u);
}

TEST(Observer, MayEndTheRun) {
  struct Stop final : ops::Observer {
    void Completed(const ops::Completion& event) override {
      if (event.instruction.id == 5)
        throw SimError("stopped by an observer");
    }
  } stop;
  TwoCoreTensors tensors(false);
  EXPECT_THROW(RunTwoCores(tensors, Fidelity::kTiming, {&stop}), SimError);
}

}  // namespace
}  // namespace bwmm
