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
  isa::DmaCopy Load(const ops::HbmTensor& tensor, std::int64_t rows, std::int64_t columns) {
    Operand src = InHbm(tensor.address, rows);
    src.dims[0].size = src.partition_stride = columns;
    return {.dst = SbufTile(DType::kFp32, 0, rows, columns), .src = src};
  }
  const ops::HbmTensor& a = hbm.Allocate("a", DType::kFp32, {16, 64}, false);
  const ops::HbmTensor& b = hbm.Allocate("b", DType::kFp32, {16, 64}, false);
  const ops::HbmTensor& c = hbm.Allocate("c", DType::kFp32, {16, 64}, false);
};

TEST_F(DmaQueuesTest, LetAShortLoadPassALongOneOfAnotherTensor) {
  BuildQueues(16, 1);
  Ready(0, Load(a, 8, 64));
  Ready(1, Load(b, 1, 16));
  Run();
  EXPECT_EQ(DoneAt(1), 120 + kTurn + kShort + kLatency);
  EXPECT_EQ(DoneAt(0), 120 + 4 * kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, KeepTheLoadsOfOneTensorInOrder) {
  BuildQueues(16, 1);
  Ready(0, Load(a, 8, 64));
  Ready(1, Load(a, 1, 16));
  Run();
  EXPECT_EQ(DoneAt(1), 120 + 4 * kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, AreSharedByTensorsWhenThereAreFew) {
  BuildQueues(1, 1);
  Ready(0, Load(a, 8, 64));
  Ready(1, Load(b, 1, 16));
  Run();
  EXPECT_EQ(DoneAt(1), 120 + 4 * kTurn + kShort + kLatency);
}

TEST_F(DmaQueuesTest, TakeTurnsRoundRobin) {
  BuildQueues(16, 1);
  Ready(0, Load(a, 8, 64));  // there at 120
  Ready(1, Load(b, 8, 64));  // at 140
  Ready(2, Load(c, 8, 64));  // at 160
  Run();
  // a b c a b c a b c a b c
  EXPECT_EQ(DoneAt(0), 120 + 10 * kTurn + kLatency);
  EXPECT_EQ(DoneAt(1), 120 + 11 * kTurn + kLatency);
  EXPECT_EQ(DoneAt(2), 120 + 12 * kTurn + kLatency);
}

// A gather of 8 rows of 64 bytes is one turn of (512 + 8 * 64) * 2 = 2048 ticks. Its descriptors
// are there at 50, so that it arrives at 150, behind the first turn of a.
TEST_F(DmaQueuesTest, ServeALowerClassFirst) {
  BuildQueues(16, 0);
  Ready(0, Load(a, 8, 64));
  Ready(1, Load(b, 8, 64));
  isa::DmaCopy copy = Gather();
  copy.src.offset = c.address;
  Work& gather = Accept(2, copy);
  OpenAt(0, *dma, gather, 0, TimeClass::kStructural, Gate::kData);
  WriteDescriptors(50, gather, 8);
  Run();
  EXPECT_EQ(DoneAt(2), 120 + kTurn + kBlock + kLatency) << "b would be next";
}

TEST_F(DmaQueuesTest, ServeAHigherClassWhenNothingElseIsThere) {
  BuildQueues(16, 2);
  Ready(0, Load(a, 8, 64));
  isa::DmaCopy copy = Gather();
  copy.src.offset = c.address;
  Work& gather = Accept(2, copy);
  OpenAt(0, *dma, gather, 0, TimeClass::kStructural, Gate::kData);
  WriteDescriptors(50, gather, 8);
  Run();
  EXPECT_EQ(DoneAt(0), 120 + 4 * kTurn + kLatency);
  EXPECT_EQ(DoneAt(2), 120 + 4 * kTurn + kBlock + kLatency);
}

}  // namespace
}  // namespace bwmm::units
