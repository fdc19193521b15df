// How a DMA engine serves its queues, in ticks by hand.
#include "tests/units/dma_harness.h"

namespace bwmm::units {
namespace {

// Queues of engine 0, with turns of 512 bytes. A long load is 8 rows of 256 bytes: 4 turns of
// (512 + 2 * 64) * 2 = 1280 ticks from 120 on. A short one is one row of 64 bytes: 256 ticks.
class DmaQueuesTest : public DmaUnitTest {
 protected:
  static constexpr Tick kTurn = 1280, kShort = 256;

  void BuildQueues(int queues, int gather_class) {
    Build(2, kFast, [&](DmaUnit::Config& config) {
      config.queues = queues;
      config.turn_bytes = 512;
      config.gather_class = gather_class;
    });
  }
  static isa::DmaCopy Load(std::int64_t rows, std::int64_t columns) {
    Operand src = InHbm(64, rows);
    src.dims[0].size = src.partition_stride = columns;
    return {.dst = SbufTile(DType::kFp32, 0, rows, columns), .src = src};
  }
  static isa::DmaCopy LongLoad() { return Load(8, 64); }
  static isa::DmaCopy ShortLoad() { return Load(1, 16); }
  // 8 rows of 64 bytes, one turn of kBlock ticks. It arrives at 150, behind the first turn of a
  // long load.
  void ReadyGather(std::uint32_t id) {
    Work& gather = Accept(id, Gather(), 0, Engine::kGpSimd);
    OpenAt(0, *dma, gather, 0, TimeClass::kStructural, Gate::kData);
    WriteDescriptors(50, gather, 8);
  }
};

TEST_F(DmaQueuesTest, LetAShortLoadPassALongOneOfAnotherSequencer) {
  BuildQueues(16, 1);
  Ready(0, LongLoad(), Engine::kSync);
  Ready(1, ShortLoad(), Engine::kVector);
  Run();
  EXPECT_EQ(DoneAt(1), 120 + kTurn + kShort + kLatency);
  EXPECT_EQ(DoneAt(0), 120 + 4 * kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, LetAShortStorePassALongLoad) {
  BuildQueues(16, 1);
  Ready(0, LongLoad());
  Ready(1, isa::DmaCopy{.dst = InHbm(8192, 1), .src = SbufTile(DType::kFp32, 2048, 1, 16)});
  Run();
  EXPECT_EQ(DoneAt(1), 120 + kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, KeepTheLoadsOfOneSequencerInOrder) {
  BuildQueues(16, 1);
  Ready(0, LongLoad());
  Ready(1, ShortLoad());
  Run();
  EXPECT_EQ(DoneAt(1), 120 + 4 * kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, AreSharedBySequencersWhenThereAreFew) {
  BuildQueues(1, 1);
  Ready(0, LongLoad(), Engine::kSync);
  Ready(1, ShortLoad(), Engine::kVector);
  Run();
  EXPECT_EQ(DoneAt(1), 120 + 4 * kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, TakeTurnsRoundRobin) {
  BuildQueues(16, 1);
  Ready(0, LongLoad(), Engine::kSync);    // there at 120, queue 12
  Ready(1, LongLoad(), Engine::kVector);  // at 140, queue 3
  Ready(2, LongLoad(), Engine::kTensor);  // at 160, queue 0
  Run();
  // 12, then 0, 3, 12 three times, then 0, 3
  EXPECT_EQ(DoneAt(0), 120 + 10 * kTurn + kLatency);
  EXPECT_EQ(DoneAt(2), 120 + 11 * kTurn + kLatency);
  EXPECT_EQ(DoneAt(1), 120 + 12 * kTurn + kLatency);
}

TEST_F(DmaQueuesTest, ServeALowerClassFirst) {
  BuildQueues(16, 0);
  Ready(0, LongLoad(), Engine::kSync);
  Ready(1, LongLoad(), Engine::kVector);
  ReadyGather(2);
  Run();
  EXPECT_EQ(DoneAt(2), 120 + kTurn + kBlock + kLatency) << "Vector's queue would be next";
}

TEST_F(DmaQueuesTest, ServeAHigherClassWhenNothingElseIsThere) {
  BuildQueues(16, 2);
  Ready(0, LongLoad());
  ReadyGather(2);
  Run();
  EXPECT_EQ(DoneAt(0), 120 + 4 * kTurn + kLatency);
  EXPECT_EQ(DoneAt(2), 120 + 4 * kTurn + kBlock + kLatency);
}

}  // namespace
}  // namespace bwmm::units
