// An in-order engine alone. Its clock has 4 ticks per cycle (500 MHz); a memset of N fp32 words
// occupies it for max(64, N) cycles and is visible 144 cycles later on the VectorEngine, 200 on the
// ScalarEngine, 60 elsewhere.
#include "model/units/in_order_engine.h"

#include <memory>

#include "model/support/check.h"
#include "tests/units/unit_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;

constexpr Tick kCycle = 4;

class FakeDescriptors final : public DescriptorsIf {
 public:
  explicit FakeDescriptors(Log& log) : log_(log) {}
  void DescriptorsWritten(Work& work, std::vector<int> lanes) override {
    log_.Add("descriptors of " + std::to_string(lanes.size()), work.instruction.id);
  }

 private:
  Log& log_;
};

class InOrderEngineTest : public UnitTest {
 protected:
  void Build(Unit unit = Unit::kVector, CostTable costs = {}) {
    engine = std::make_unique<InOrderEngine>("engine",
                                             InOrderEngine::Config{.unit = unit,
                                                                   .clock = {kCycle},
                                                                   .costs = costs,
                                                                   .activation_table = 2002,
                                                                   .hbm_register_load = 1000},
                                             run, memory);
    queue = unit == Unit::kGpSimd   ? Engine::kGpSimd
            : unit == Unit::kScalar ? Engine::kScalar
            : unit == Unit::kSync   ? Engine::kSync
                                    : Engine::kVector;
    engine->retire(retire);
    if (unit == Unit::kGpSimd) {
      engine->descriptors(descriptors);
      engine->meeting(meeting);
    }
  }
  Work& Accept(std::uint32_t id, isa::Body body, Tick emitted_at = 0) {
    Work& work = Add(id, queue, std::move(body), emitted_at);
    script.At(emitted_at, [this, &work] { engine->Accept(work); });
    return work;
  }
  // Accepted and open from `tick` on.
  Work& Ready(std::uint32_t id, isa::Body body, Tick tick = 0) {
    Work& work = Accept(id, std::move(body), tick);
    OpenAt(tick, *engine, work, tick);
    return work;
  }
  static isa::Memset Memset(std::int64_t n) {
    return {.dst = SbufTile(DType::kFp32, 0, 128, n), .value = 1.0f};
  }
  // Index of 16 rows, `skipped` of them negative.
  isa::DmaCopy Gather(int skipped) {
    for (int p = 0; p < 16; ++p) {
      const std::int32_t row = p < skipped ? -1 : p;
      std::memcpy(sbuf.At(p, 4096, 4), &row, sizeof row);
    }
    isa::DmaCopy copy{.dst = SbufTile(DType::kFp32, 0, 16, 8),
                      .src = test::Tile(Memory::kHbm, DType::kFp32, 64, 16, 8)};
    copy.src.partition_stride = 8;
    copy.gather = isa::VectorOffset{.index = SbufTile(DType::kInt32, 4096, 16, 1),
                                    .rows = 64,
                                    .row_stride = 8,
                                    .oob = isa::OutOfBounds::kSkip};
    return copy;
  }
  static isa::ActivationOp Activate(Activation function) {
    return {.function = function,
            .dst = SbufTile(DType::kFp32, 0, 128, 64),
            .src = SbufTile(DType::kFp32, 256, 128, 64)};
  }
  Tick Of(TimeClass time_class) { return engine->ledger().ticks(time_class); }

  FakeDescriptors descriptors{log};
  Engine queue = Engine::kVector;
  std::unique_ptr<InOrderEngine> engine;
};

TEST_F(InOrderEngineTest, IsBusyForTheOccupancyAndVisibleTheLatencyLater) {
  Build();
  const Work& first = Ready(0, Memset(100));
  const Work& second = Ready(1, Memset(70));
  Run();
  // 100 cycles, then 144; the second starts when the first's occupancy is over.
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{0, "started", 0}, Seen{400, "started", 1},
                          Seen{400 + 576, "complete", 0}, Seen{400 + 280 + 576, "complete", 1}));
  EXPECT_EQ(first.start, 0u);
  EXPECT_EQ(second.start, 400u);
  EXPECT_EQ(second.stall, TimeClass::kBusy);
  EXPECT_EQ(Of(TimeClass::kBusy), 680u);
  EXPECT_EQ(engine->ledger().until(), 680u);
}

TEST_F(InOrderEngineTest, StartsAtAnEdgeOfItsClock) {
  Build();
  Work& work = Accept(0, Memset(64));
  OpenAt(10, *engine, work, 14, TimeClass::kTensor);
  Run();
  EXPECT_EQ(work.start, 16u);
  EXPECT_EQ(Of(TimeClass::kTensor), 14u);
  EXPECT_EQ(Of(TimeClass::kStructural), 2u);
  EXPECT_EQ(log.At("complete", 0), 16u + 256 + 576);
}

TEST_F(InOrderEngineTest, CountsTheWaitForEveryUnitInItsOwnClass) {
  Build();
  const std::vector<TimeClass> causes = {TimeClass::kTensor, TimeClass::kVector, TimeClass::kScalar,
                                         TimeClass::kGpSimd, TimeClass::kSync,   TimeClass::kDma,
                                         TimeClass::kPeer};
  std::vector<const Work*> works;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    Work& work = Accept(static_cast<std::uint32_t>(i), Memset(64));
    OpenAt(0, *engine, work, 1000 * (i + 1), causes[i]);
    works.push_back(&work);
  }
  Run();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    EXPECT_EQ(works[i]->start, 1000 * (i + 1));
    EXPECT_EQ(works[i]->stall, causes[i]);
    EXPECT_EQ(Of(causes[i]), i == 0 ? 1000u : 1000u - 256);
  }
}

TEST_F(InOrderEngineTest, WaitsForTheProgramFirstAndForItsDependenciesThen) {
  Build();
  Work& work = Accept(0, Memset(64), 40);
  OpenAt(60, *engine, work, 100, TimeClass::kDma);
  Run();
  EXPECT_EQ(work.start, 100u);
  EXPECT_EQ(work.stall, TimeClass::kDma);
  EXPECT_EQ(Of(TimeClass::kControl), 40u);
  EXPECT_EQ(Of(TimeClass::kDma), 60u);
  EXPECT_EQ(Of(TimeClass::kStructural), 0u);
}

TEST_F(InOrderEngineTest, StandsBehindAnOlderInstructionThatWaits) {
  Build();
  Work& first = Accept(0, Memset(64));
  Ready(1, Memset(64));
  OpenAt(200, *engine, first, 200, TimeClass::kScalar);
  Run();
  EXPECT_THAT(log.Of("started"),
              ElementsAre(Seen{200, "started", 0}, Seen{200 + 256, "started", 1}));
}

TEST_F(InOrderEngineTest, ShowsResultsInProgramOrder) {
  // quantize_mx of one column: 1 + 144 + 20 cycles; the memset behind it would be there at 146.
  Build(Unit::kVector, {.min_interval = 1, .quantize_pipeline_cycles = 20});
  Ready(0, isa::QuantizeMx{.dst = SbufTile(DType::kFp8E4M3FnX4, 0, 32, 1),
                           .dst_scale = SbufTile(DType::kE8M0, 64, 32, 1),
                           .src = SbufTile(DType::kBf16, 128, 32, 4)});
  Ready(1, Memset(1));
  Run();
  EXPECT_THAT(log.Of("complete"),
              ElementsAre(Seen{165 * kCycle, "complete", 0}, Seen{165 * kCycle, "complete", 1}));
}

TEST_F(InOrderEngineTest, LoadsARegisterFromHbmALatencyLaterThanFromSbuf) {
  Build(Unit::kSync);
  Operand hbm_word = test::Tile(Memory::kHbm, DType::kInt32, 64, 1, 1);
  Ready(0, isa::RegisterLoad{.src = SbufTile(DType::kInt32, 0, 1, 1)});
  Ready(1, isa::RegisterLoad{.src = hbm_word});
  Run();
  // 64 cycles each, then 60; the second holds the engine 1000 ticks longer.
  EXPECT_EQ(log.At("complete", 0), 256u + 240);
  EXPECT_EQ(log.At("complete", 1), 256u + 256 + 1000 + 240);
  EXPECT_EQ(Of(TimeClass::kBusy), 256u + 256 + 1000);
}

TEST_F(InOrderEngineTest, LoadsTheTableOfAnotherFunctionWhileItsOperandsAreNotThere) {
  Build(Unit::kScalar);
  Work& early = Accept(0, Activate(Activation::kExp), 100);
  OpenAt(100, *engine, early, 600, TimeClass::kDma);
  Work& late = Accept(1, Activate(Activation::kSilu), 100);
  OpenAt(100, *engine, late, 9000, TimeClass::kDma);
  Run();
  // The first load is from 100 to 2102, the second from 2104 + 256 on, when the engine is free.
  EXPECT_EQ(early.start, 2104u);
  EXPECT_EQ(early.stall, TimeClass::kStructural);
  EXPECT_EQ(late.start, 9000u);
  EXPECT_EQ(log.At("complete", 1), 9000u + 256 + 800);
  EXPECT_EQ(Of(TimeClass::kControl), 100u);
  EXPECT_EQ(Of(TimeClass::kDma), 500u + 9000 - 2104 - 256);
  EXPECT_EQ(Of(TimeClass::kStructural), 2104u - 600);
}

TEST_F(InOrderEngineTest, KeepsATableUntilAnotherIsLoaded) {
  Build(Unit::kScalar);
  Ready(0, Activate(Activation::kExp));
  Ready(1, Activate(Activation::kExp));
  Ready(2, Activate(Activation::kIdentity));  // needs none
  Ready(3, Memset(64));
  Ready(4, Activate(Activation::kExp));
  Ready(5, Activate(Activation::kSigmoid));
  Ready(6, Activate(Activation::kExp));
  Run();
  // 2002 ticks end at an edge 2 ticks later; each occupies 256.
  EXPECT_THAT(
      log.Of("started"),
      ElementsAre(Seen{2004, "started", 0}, Seen{2260, "started", 1}, Seen{2516, "started", 2},
                  Seen{2772, "started", 3}, Seen{3028, "started", 4},
                  Seen{3284 + 2004, "started", 5}, Seen{3284 + 2004 + 256 + 2004, "started", 6}));
}

TEST_F(InOrderEngineTest, WritesDescriptorsAndHandsTheTransferOver) {
  Build(Unit::kGpSimd);
  Work& gather = Ready(0, Gather(3));
  Ready(1, Memset(64));
  Run();
  // 150 cycles and 4 for each of the 13 rows that move; no latency, and not started here.
  EXPECT_THAT(log.seen(), ElementsAre(Seen{202 * kCycle, "descriptors of 13", 0},
                                      Seen{202 * kCycle, "started", 1},
                                      Seen{(202 + 64 + 60) * kCycle, "complete", 1}));
  EXPECT_EQ(gather.start, 0u);
  EXPECT_EQ(Of(TimeClass::kBusy), (202u + 64) * kCycle);
}

TEST_F(InOrderEngineTest, HandsOverInProgramOrderToo) {
  Build(Unit::kGpSimd, {.descriptors_fixed_cycles = 1, .descriptor_cycles = 0});
  Ready(0, Memset(64));
  Ready(1, Gather(0));
  Run();
  EXPECT_EQ(log.At("complete", 0), 124 * kCycle);
  EXPECT_EQ(log.At("descriptors of 16", 1), 124 * kCycle) << "not at 65";
}

TEST_F(InOrderEngineTest, StandsInABarrierAndWaitsForThePeer) {
  Build(Unit::kGpSimd);
  Work& barrier = Ready(0, isa::CoreBarrier{.data = SbufTile(DType::kFp32, 0, 1, 1)}, 8);
  Ready(1, Memset(64), 12);
  script.At(300, [&] { engine->Met(barrier, 410); });
  Run();
  // The next one starts at the first edge behind the barrier.
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{8, "started", 0}, Seen{8, "arrive", 0}, Seen{410, "complete", 0},
                          Seen{412, "started", 1}, Seen{412 + 256 + 240, "complete", 1}));
  EXPECT_EQ(Of(TimeClass::kControl), 8u);
  EXPECT_EQ(Of(TimeClass::kPeer), 402u);
  EXPECT_EQ(Of(TimeClass::kStructural), 2u);
  EXPECT_EQ(Of(TimeClass::kBusy), 256u);
}

TEST_F(InOrderEngineTest, LetsEarlierResultsAppearBeforeABarrierEnds) {
  Build(Unit::kGpSimd);
  Ready(0, Memset(64));
  Work& barrier = Ready(1, isa::CoreBarrier{.data = SbufTile(DType::kFp32, 0, 1, 1)});
  script.At(260, [&] { engine->Met(barrier, 300); });
  Run();
  EXPECT_EQ(log.At("arrive", 1), 256u);
  EXPECT_THAT(log.Of("complete"), ElementsAre(Seen{496, "complete", 0}, Seen{496, "complete", 1}));
}

TEST_F(InOrderEngineTest, RejectsMeetingsItDoesNotStandIn) {
  Build(Unit::kGpSimd);
  Work& work = Add(0, Engine::kGpSimd, Memset(64));
  EXPECT_THROW(engine->Met(work, 10), CheckFailure);
  EXPECT_THROW(engine->Exchanged(work, 10), CheckFailure);
}

TEST_F(InOrderEngineTest, DoesNothingMoreAfterAnError) {
  Build();
  Ready(0, Memset(64));
  Ready(1, Memset(64));
  retire.on_complete = [](Work&) { throw SimError("first {}", 1); };
  EXPECT_EQ(ErrorOfRun(), "first 1");
  EXPECT_EQ(log.At("started", 1), 256u);
  EXPECT_EQ(log.Of("complete").size(), 1u);
}

}  // namespace
}  // namespace bwmm::units
