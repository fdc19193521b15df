// The cycle contract, by hand: each expectation is counted from docs/units/tensor_engine.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "model/engine/make_engines.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

LoadCommand Load(std::uint32_t id, int rows, int cols, PeMode mode = PeMode::kOrdinary) {
  LoadCommand load;
  load.id = id;
  load.mode = mode;
  load.dtype = mode == PeMode::kMx ? DType::kFp8E4M3FnX4 : DType::kBf16;
  load.rows = rows;
  load.cols = cols;
  return load;
}

MoveCommand Move(std::uint32_t id, int rows, int n, PeMode mode = PeMode::kOrdinary) {
  MoveCommand move;
  move.id = id;
  move.mode = mode;
  move.dtype = mode == PeMode::kMx ? DType::kFp8E4M3FnX4 : DType::kBf16;
  move.rows = rows;
  move.n = n;
  return move;
}

// Pushes as soon as the queue has room and returns all events.
class Runner {
 public:
  explicit Runner(const TensorEngineConfig& config = {})
      : engine_(MakeTimingTensorEngine(config)) {}

  template <typename Command>
  void Push(Command command) {
    while (!engine_->CanPush())
      engine_->AdvanceTo(*engine_->NextEventCycle() + 1);
    engine_->Push(std::move(command));
  }

  std::vector<Event> Finish() {
    while (const auto next = engine_->NextEventCycle())
      engine_->AdvanceTo(*next + 1);
    return engine_->TakeEvents();
  }

 private:
  std::unique_ptr<TensorEngine> engine_;
};

TEST(EngineSchedule, OneMatmulTakesItsFillAndDrain) {
  Runner runner;
  runner.Push(Load(1, 128, 128));
  runner.Push(Move(2, 128, 512));
  // Popped at 0, started at 1, 32 loads; the move follows at 33 and its last row leaves at 544.
  EXPECT_THAT(runner.Finish(),
              ElementsAre(Event{1, EventKind::kStarted, 1}, Event{1, EventKind::kReadDone, 32},
                          Event{2, EventKind::kStarted, 33}, Event{2, EventKind::kReadDone, 544},
                          Event{2, EventKind::kWritten, 544 + 128 + 1}));
}

TEST(EngineSchedule, LoadStartsAtTheEdgeItsSwapPartnerStarts) {
  Runner runner;
  runner.Push(Load(1, 128, 128));
  runner.Push(Move(2, 128, 256));
  runner.Push(Load(3, 128, 128));
  runner.Push(Move(4, 128, 256));
  std::vector<Event> starts = runner.Finish();
  std::erase_if(starts, [](const Event& event) { return event.kind != EventKind::kStarted; });
  EXPECT_THAT(
      starts,
      ElementsAre(Event{1, EventKind::kStarted, 1}, Event{2, EventKind::kStarted, 33},
                  Event{3, EventKind::kStarted, 33}, Event{4, EventKind::kStarted, 33 + 256}));
}

TEST(EngineSchedule, MoveWithoutNewWeightsFollowsAtOnce) {
  Runner runner;
  runner.Push(Load(1, 64, 16));
  runner.Push(Move(2, 64, 20));
  runner.Push(Move(3, 64, 20));
  std::vector<Event> starts = runner.Finish();
  std::erase_if(starts, [](const Event& event) { return event.kind != EventKind::kStarted; });
  EXPECT_THAT(starts,
              ElementsAre(Event{1, EventKind::kStarted, 1}, Event{2, EventKind::kStarted, 5},
                          Event{3, EventKind::kStarted, 25}));
}

// Average edges per matmul of a long run of equal LoadStationary + MultiplyMoving pairs.
double AverageCost(int m, int n, PeMode mode = PeMode::kOrdinary, int rows = 128) {
  constexpr int kPairs = 200;
  Runner runner;
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    runner.Push(Load(2 * i, rows, m, mode));
    runner.Push(Move(2 * i + 1, rows, n, mode));
  }
  std::vector<Event> starts = runner.Finish();
  std::erase_if(starts, [](const Event& event) {
    return event.kind != EventKind::kStarted || event.id % 2 == 0;
  });
  return static_cast<double>(starts.back().cycle - starts.front().cycle) / (kPairs - 1);
}

TEST(EngineSchedule, BackToBackMatmulsCostTheDocumentedAverage) {
  // One command is accepted per edge and a matmul is two, so 2 is the floor.
  for (const int m : {1, 2, 3, 4, 5, 16, 60, 64, 65, 100, 127, 128}) {
    for (const int n : {1, 2, 5, 32, 33, 63, 64, 100, 128, 512}) {
      for (const PeMode mode : {PeMode::kOrdinary, PeMode::kMx})
        EXPECT_EQ(AverageCost(m, n, mode), std::max({std::min(64, m), n, 2})) << m << " x " << n;
    }
  }
}

TEST(EngineSchedule, BackToBackTransposesCostTheDocumentedAverage) {
  for (const int partitions : {8, 32, 64, 128}) {
    for (const int free : {4, 32, 64, 128})
      EXPECT_EQ(AverageCost(free, partitions, PeMode::kTranspose, partitions),
                std::max(partitions, std::min(64, free)));
  }
}

TEST(EngineSchedule, LongMatmulsReachTheArrayPeak) {
  // From the first load to the last PSUM row.
  constexpr int kTiles = 64;
  Runner runner;
  for (std::uint32_t i = 0; i < kTiles; ++i) {
    runner.Push(Load(2 * i, 128, 128));
    runner.Push(Move(2 * i + 1, 128, 512));
  }
  const std::vector<Event> events = runner.Finish();
  const double cycles = static_cast<double>(events.back().cycle + 1);
  const double macs = 128.0 * 128 * 512 * kTiles;
  EXPECT_GT(macs / (cycles * 128 * 128), 0.95);
}

TEST(EngineCommands, RejectsWhatTheArrayCannotRun) {
  const auto engine = MakeTimingTensorEngine({});
  EXPECT_THAT([&] { engine->Push(Move(1, 128, 1)); },
              ThrowsMessage<SimError>(HasSubstr("no stationary operand")));
  EXPECT_THAT(
      [&] { engine->Push(Load(2, 129, 1)); },
      ThrowsMessage<SimError>(HasSubstr("LoadStationary 2: rows is 129, allowed 1 to 128")));
  EXPECT_THAT([&] { engine->Push(Load(3, 12, 1, PeMode::kMx)); },
              ThrowsMessage<SimError>(HasSubstr("multiple of 8")));
  engine->Push(Load(4, 64, 64));
  EXPECT_THAT([&] { engine->Push(Move(5, 64, 1, PeMode::kMx)); },
              ThrowsMessage<SimError>(HasSubstr("loaded in ordinary mode")));
  EXPECT_THAT([&] { engine->Push(Move(6, 32, 1)); },
              ThrowsMessage<SimError>(HasSubstr("rows is 32, allowed 64 to 64")));
  MoveCommand odd = Move(7, 64, 1);
  odd.psum_address = 3;
  EXPECT_THAT([&] { engine->Push(odd); }, ThrowsMessage<SimError>(HasSubstr("starts even")));
  MoveCommand far = Move(8, 64, 512);
  far.psum_address = 2 * 4096 - 1022;
  EXPECT_THAT([&] { engine->Push(far); }, ThrowsMessage<SimError>(HasSubstr("psum_address")));
}

TEST(EngineCommands, RejectsOperandsOfTheWrongSize) {
  const auto engine = MakeFastTensorEngine({});
  LoadCommand load = Load(1, 8, 4);
  load.data.resize(31);
  EXPECT_THAT([&] { engine->Push(load); },
              ThrowsMessage<SimError>(HasSubstr("data has 31 entries, expected 32")));
}

TEST(EngineFactories, RejectsArraySizesThatWereNotBuilt) {
  EXPECT_THROW(MakeRtlTensorEngine({.rows = 64, .cols = 64}), SimError);
  EXPECT_THROW(MakeRtlTensorEngine({.psum_words = 100}), SimError);
}

}  // namespace
}  // namespace bwmm::engine
