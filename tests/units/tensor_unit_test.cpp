// The TensorEngine's sequencer on the C++ engine; 2 ticks per cycle. The engine's own cycles are
// counted from docs/units/tensor_engine.md: a command pushed at edge c starts at c + 1, a load of M
// columns reads for M / 4 edges, a move of N rows for N, and its last row is written 129 edges
// after the last one was read. What happens at edge c takes effect at edge c + 1.
#include "model/units/tensor_unit.h"

#include <memory>

#include "model/engine/make_engines.h"
#include "tests/units/unit_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Tick kCycle = 2;

class TensorUnitTest : public UnitTest {
 protected:
  void Build(std::unique_ptr<engine::TensorEngine> with = engine::MakeTimingTensorEngine({}),
             Tick throttle_window = 0) {
    engine = std::move(with);
    memory.control_only = true;
    unit = std::make_unique<TensorUnit>(
        "tensor", TensorUnit::Config{.clock = {kCycle}, .throttle_window = throttle_window}, run,
        memory, *engine);
    unit->retire(retire);
  }
  Work& Accept(std::uint32_t id, isa::Body body, Tick emitted_at = 0) {
    Work& work = Add(id, Engine::kTensor, std::move(body), emitted_at);
    script.At(emitted_at, [this, &work] { unit->Accept(work); });
    return work;
  }
  Work& Ready(std::uint32_t id, isa::Body body, Tick tick = 0) {
    Work& work = Accept(id, std::move(body), tick);
    OpenAt(tick, *unit, work, tick);
    return work;
  }
  static isa::LoadStationary Load(std::int64_t cols = 128) {
    return {.stationary = SbufTile(DType::kBf16, 0, 128, cols)};
  }
  static isa::MultiplyMoving Move(std::int64_t n, std::int64_t cols = 128) {
    return {.dst = PsumTile(DType::kFp32, 0, cols, n), .moving = SbufTile(DType::kBf16, 0, 128, n)};
  }
  Tick Of(TimeClass time_class) { return unit->ledger().ticks(time_class); }

  std::unique_ptr<engine::TensorEngine> engine;
  std::unique_ptr<TensorUnit> unit;
};

TEST_F(TensorUnitTest, TurnsEventsIntoCompletionsAtTheNextEdge) {
  Build();
  const Work& load = Ready(0, Load());
  const Work& move = Ready(1, Move(512));
  Run();
  // Load: starts at 1, reads 32 edges, over at 33. Move: starts at 33, read at 545, written 674.
  EXPECT_THAT(
      log.seen(),
      ElementsAre(Seen{0, "observe", 0}, Seen{0, "observe", 1}, Seen{1 * kCycle + 1, "started", 0},
                  Seen{33 * kCycle, "complete", 0}, Seen{33 * kCycle + 1, "started", 1},
                  Seen{545 * kCycle, "read done", 1}, Seen{674 * kCycle, "complete", 1}));
  EXPECT_EQ(load.start, 1 * kCycle);
  EXPECT_EQ(move.start, 33 * kCycle);
  EXPECT_EQ(load.stall, TimeClass::kStructural) << "one edge from the queue into the array";
  EXPECT_EQ(move.stall, TimeClass::kBusy);
  EXPECT_EQ(Of(TimeClass::kStructural), 1 * kCycle);
  EXPECT_EQ(Of(TimeClass::kBusy), 544 * kCycle) << "until the last row is read, not written";
}

TEST_F(TensorUnitTest, CountsTheWaitBetweenTwoCommands) {
  Build();
  Ready(0, Load());
  Ready(1, Move(64));
  // The first move reads until edge 97; the second is there from tick 250 on, pushed at edge 150,
  // started at 151.
  Work& second = Accept(2, Move(64), 250);
  OpenAt(260, *unit, second, 299, TimeClass::kDma);
  Run();
  EXPECT_EQ(second.start, 151 * kCycle);
  EXPECT_EQ(second.stall, TimeClass::kControl);
  EXPECT_EQ(Of(TimeClass::kControl), 250u - 97 * kCycle);
  EXPECT_EQ(Of(TimeClass::kDma), 49u);
  EXPECT_EQ(Of(TimeClass::kStructural), 1 * kCycle + (302 - 299));
  EXPECT_EQ(Of(TimeClass::kBusy), (32u + 64 + 64) * kCycle);
}

TEST_F(TensorUnitTest, HidesALoadBehindTheMoveBefore) {
  Build();
  Ready(0, Load());
  Ready(1, Move(128));
  const Work& hidden = Ready(2, Load());
  const Work& next = Ready(3, Move(128));
  Run();
  EXPECT_EQ(hidden.start, 33 * kCycle) << "at the edge the first move starts";
  EXPECT_EQ(log.At("complete", 2), 65 * kCycle);
  EXPECT_EQ(next.start, 161 * kCycle);
  EXPECT_EQ(hidden.stall, TimeClass::kBusy);
  EXPECT_EQ(Of(TimeClass::kBusy), (32u + 128 + 128) * kCycle) << "counted once";
}

TEST_F(TensorUnitTest, StartsALoadDuringAMoveWithoutAGap) {
  Build();
  Ready(0, Load());
  Ready(1, Move(128));
  const Work& hidden = Ready(2, Load(), 100);  // pushed at edge 50, started at 51
  Run();
  EXPECT_EQ(hidden.start, 51 * kCycle);
  EXPECT_EQ(hidden.stall, TimeClass::kBusy);
  EXPECT_EQ(Of(TimeClass::kControl), 0u);
  EXPECT_EQ(Of(TimeClass::kStructural), 1 * kCycle);
  EXPECT_EQ(Of(TimeClass::kBusy), (32u + 128) * kCycle);
}

TEST_F(TensorUnitTest, StandsBehindAnOlderCommandThatWaits) {
  Build();
  Work& first = Accept(0, Load());
  Ready(1, Move(64));
  OpenAt(20, *unit, first, 101, TimeClass::kScalar);
  Run();
  EXPECT_EQ(log.At("observe", 0), 102u) << "the first edge at or after 101";
  EXPECT_EQ(log.At("observe", 1), 102u);
  EXPECT_EQ(Of(TimeClass::kScalar), 101u);
}

TEST_F(TensorUnitTest, PushesNoMoreThanTheEngineQueues) {
  Build(engine::MakeTimingTensorEngine({.queue_depth = 2}));
  Ready(0, Load());
  for (std::uint32_t id = 1; id <= 3; ++id)
    Ready(id, Move(100));
  Run();
  // The load is popped at edge 0, the first move at edge 1 (it waits in its slot), and each leaves
  // a place in the queue at the edge after.
  EXPECT_THAT(log.Of("observe"), ElementsAre(Seen{0, "observe", 0}, Seen{0, "observe", 1},
                                             Seen{2, "observe", 2}, Seen{4, "observe", 3}));
}

TEST_F(TensorUnitTest, RunsAtHalfRateForAWindowAfterAnIdleOne) {
  Build(engine::MakeTimingTensorEngine({}), 1000);
  Ready(0, Load());
  for (std::uint32_t id = 1; id <= 8; ++id)
    Ready(id, Move(64));
  Ready(9, Move(64), 2036);
  Ready(10, Move(64), 2036);
  Ready(11, Move(64), 4000);
  Ready(12, Move(64), 4000);
  Run();
  // 64 rows are 128 ticks: slots of 256 until tick 1000, then of 128, for the last 1000 ticks are
  // all slots. At 2036 they are slots from 1036 to 1536, just half of the window; at 4000 there is
  // none.
  const std::vector<Seen> pushed = log.Of("observe");
  std::vector<Tick> at;
  for (const Seen& seen : pushed)
    at.push_back(seen.at);
  EXPECT_THAT(at, ElementsAre(0, 0, 256, 512, 768, 1024, 1152, 1280, 1408, 2036, 2164, 4000, 4256));
}

TEST_F(TensorUnitTest, ThrottlesWhatUsedALittleLessThanHalfOfAWindow) {
  Build(engine::MakeTimingTensorEngine({}), 1000);
  Ready(0, Load());
  for (std::uint32_t id = 1; id <= 8; ++id)
    Ready(id, Move(64));
  Ready(9, Move(64), 2038);
  Ready(10, Move(64), 2038);
  Run();
  EXPECT_EQ(log.At("observe", 10), 2038u + 256);
}

TEST_F(TensorUnitTest, CountsRowsAndMultiplyAdds) {
  Build();
  isa::MultiplyMoving mx = Move(16, 32);
  mx.mode = PeMode::kMx;
  mx.moving = SbufTile(DType::kFp8E4M3FnX4, 0, 64, 16);
  isa::LoadStationary mx_load{.mode = PeMode::kMx,
                              .stationary = SbufTile(DType::kFp8E4M3FnX4, 0, 64, 32)};
  isa::LoadStationary turned{.mode = PeMode::kTranspose,
                             .stationary = SbufTile(DType::kBf16, 0, 128, 64)};
  isa::MultiplyMoving turn{.mode = PeMode::kTranspose,
                           .dst = PsumTile(DType::kBf16, 0, 64, 128),
                           .moving = turned.stationary};
  Ready(0, Load());
  Ready(1, Move(100));
  Ready(2, mx_load);
  Ready(3, mx);
  Ready(4, turned);
  Ready(5, turn);
  Run();
  EXPECT_EQ(unit->stats().moving_rows, 100u + 16 + 128);
  EXPECT_EQ(unit->stats().multiply_adds, 100u * 128 * 128 + 16u * 64 * 32 * 4);
}

TEST_F(TensorUnitTest, RejectsWhatTheEngineRejects) {
  Build();
  Ready(0, Move(64));
  EXPECT_THAT(ErrorOfRun(), HasSubstr("no stationary operand"));
}

}  // namespace
}  // namespace bwmm::units
