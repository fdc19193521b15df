// The DMA of one core alone: every path in ticks, by hand. Its figures: tests/units/dma_harness.h.
#include "model/units/dma_unit.h"

#include "tests/units/dma_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;

TEST_F(DmaUnitTest, TellsHowManyPartsWaitForTheEngines) {
  Build();
  Ready(0, Within(0));
  Ready(1, Within(0));
  Run();
  // They arrive at 120 and 140; the engine takes one up at once and the other a block's time later.
  using Waiting = std::pair<Tick, std::int64_t>;
  EXPECT_THAT(retire.parts_waiting, ElementsAre(Waiting{121, 1}, Waiting{121, 0}, Waiting{141, 1},
                                                Waiting{121 + kBlock, 0}));
}

TEST_F(DmaUnitTest, TakesGeneratorStartTransferAndHbmLatency) {
  Build();
  const Work& work = Ready(0, isa::DmaCopy{.dst = Block(), .src = InHbm()});
  Run();
  // The first part starts at 120, which is decided in the odd phase behind it.
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{121, "started", 0}, Seen{120 + kBlock + kLatency, "complete", 0}));
  EXPECT_EQ(work.start, 0u);
  EXPECT_EQ(Of(TimeClass::kStructural), kGenerator + kStart);
  EXPECT_EQ(Of(TimeClass::kBusy), kBlock);
}

TEST_F(DmaUnitTest, HasNoHbmLatencyWithinSbuf) {
  Build();
  Ready(0, Within(0));
  Run();
  EXPECT_EQ(DoneAt(0), 120 + kBlock);
  EXPECT_EQ(target->stats().read_bytes + target->stats().write_bytes, 0u);
}

TEST_F(DmaUnitTest, WaitsForASlowHbmToBeRead) {
  Build(2, kSlow);
  Ready(0, isa::DmaCopy{.dst = Block(), .src = InHbm()});
  Run();
  EXPECT_EQ(DoneAt(0), 120u + 512 * 20 + kLatency);
  EXPECT_EQ(Of(TimeClass::kBusy), 512u * 20);
  EXPECT_EQ(dma->stats().engine_ticks, 512u * 20);
}

TEST_F(DmaUnitTest, WaitsForASlowHbmToBeWritten) {
  Build(2, kSlow);
  Ready(0, isa::DmaCopy{.dst = InHbm(), .src = Block()});
  Run();
  EXPECT_EQ(DoneAt(0), 120u + 512 * 20 + kLatency);
  EXPECT_EQ(target->stats().write_bytes, 512u);
}

TEST_F(DmaUnitTest, ReadsHbmBeforeItWritesIt) {
  Build(2, kSlow);
  Ready(0, isa::DmaCopy{.dst = InHbm(8192), .src = InHbm()});
  Run();
  EXPECT_EQ(DoneAt(0), 120u + 2 * 512 * 20 + kLatency);
  EXPECT_EQ(dma->stats().hbm_read, 512u);
  EXPECT_EQ(dma->stats().hbm_write, 512u);
  EXPECT_EQ(dma->stats().descriptors, 1u) << "one run of 512 bytes";
}

TEST_F(DmaUnitTest, HasOneGeneratorForTheScalarEngineAndOneForAllOthers) {
  Build(2);
  // One partition each, on engines 0 to 3: (64 + 64) * 2 ticks.
  constexpr Engine kEngines[] = {Engine::kSync, Engine::kScalar, Engine::kVector, Engine::kScalar};
  std::vector<const Work*> works;
  for (std::uint32_t i = 0; i < 4; ++i)
    works.push_back(&Ready(i, Within(8 * static_cast<int>(i), 1), kEngines[i]));
  Run();
  for (const std::uint32_t i : {0u, 1u}) {
    EXPECT_EQ(works[i]->start, 0u);
    EXPECT_EQ(DoneAt(i), 376u);
    EXPECT_EQ(works[i + 2]->start, kGenerator);
    EXPECT_EQ(DoneAt(i + 2), 376u + kGenerator);
  }
}

TEST_F(DmaUnitTest, SharesTheOnlyGenerator) {
  Build(1);
  Ready(0, Within(0, 1), Engine::kSync);
  const Work& second = Ready(1, Within(8, 1), Engine::kScalar);
  Run();
  EXPECT_EQ(second.start, kGenerator);
}

TEST_F(DmaUnitTest, StartsTheEnginesOfATransferOneAfterAnother) {
  Build(2, kFast, [](DmaUnit::Config& config) { config.skew_ns = 15; });
  Ready(0, Within(8, 24));  // engines 1, 2 and 3
  Ready(1, Within(24, 1));  // on engine 3, there at 140, when the engine waits for its start at 180
  Run();
  EXPECT_EQ(DoneAt(0), 120 + 2 * 30 + kBlock);
  EXPECT_EQ(DoneAt(1), 120 + 2 * 30 + kBlock + 256) << "in one queue";
}

TEST_F(DmaUnitTest, CompletesSomeTimeAfterTheLastByteIsInPlace) {
  Build(2, kFast, [](DmaUnit::Config& config) { config.completion = 50; });
  Ready(0, Within(0));
  Ready(1, isa::DmaCopy{.dst = Block(8), .src = InHbm()}, Engine::kScalar);
  Run();
  EXPECT_EQ(DoneAt(0), 120 + kBlock + 50);
  EXPECT_EQ(DoneAt(1), 120 + kBlock + kLatency + 50);
}

TEST_F(DmaUnitTest, GivesAGeneratorToTheOlderOfTwoInstructions) {
  Build(1);
  Work& younger = Accept(5, Within(8, 1));
  Work& older = Accept(2, Within(0, 1));
  OpenAt(10, *dma, younger, 10);
  OpenAt(10, *dma, older, 10);
  Run();
  EXPECT_EQ(older.start, 10u);
  EXPECT_EQ(younger.start, 10 + kGenerator);
}

TEST_F(DmaUnitTest, GivesAGeneratorToTheOneThatIsReadyFirst) {
  Build(1);
  Work& late = Accept(2, Within(0, 1));
  Work& early = Accept(5, Within(8, 1));
  OpenAt(0, *dma, late, 12);
  OpenAt(0, *dma, early, 10);
  Run();
  EXPECT_EQ(early.start, 10u);
  EXPECT_EQ(late.start, 10 + kGenerator);
}

TEST_F(DmaUnitTest, QueuesPartsOfOneEngineAndOvertakesOnOthers) {
  Build();
  Ready(0, Within(0));
  Ready(1, Within(0, 1));
  Ready(2, Within(8, 1));
  Run();
  EXPECT_EQ(DoneAt(0), 120 + kBlock);
  EXPECT_EQ(DoneAt(1), 120 + kBlock + 256);
  EXPECT_EQ(DoneAt(2), 120 + 2 * kGenerator + 256) << "on an engine of its own";
}

TEST_F(DmaUnitTest, CompletesWithTheLastPart) {
  Build();
  Ready(0, Within(0, 12));  // engine 0: 8 partitions, engine 1: 4 partitions
  Ready(1, Within(8, 1));   // behind it on engine 1
  Run();
  EXPECT_EQ(DoneAt(0), 120 + kBlock);
  EXPECT_EQ(DoneAt(1), 120 + kBlock / 2 + 256);
  EXPECT_EQ(dma->stats().transfers, 2u);
  EXPECT_EQ(dma->stats().descriptors, 13u);
  EXPECT_EQ(dma->stats().engine_ticks, kBlock + kBlock / 2 + 256);
  EXPECT_EQ(Of(TimeClass::kBusy), kBlock) << "busy while at least one engine moves bytes";
}

TEST_F(DmaUnitTest, CountsProgramDependencyAndItsOwnTimeApart) {
  Build();
  Work& work = Accept(0, Within(0), 40);
  OpenAt(300, *dma, work, 500, TimeClass::kVector);
  Run();
  EXPECT_EQ(work.start, 500u);
  EXPECT_EQ(work.stall, TimeClass::kVector);
  EXPECT_EQ(Of(TimeClass::kControl), 40u);
  EXPECT_EQ(Of(TimeClass::kVector), 460u);
  EXPECT_EQ(Of(TimeClass::kStructural), 120u);
  EXPECT_EQ(Of(TimeClass::kBusy), kBlock);
}

TEST_F(DmaUnitTest, WaitsForAnotherTransferAsDma) {
  Build();
  Ready(0, Within(0));
  Work& second = Accept(1, Within(0));
  OpenAt(2168, *dma, second, 2200, TimeClass::kDma);
  Run();
  EXPECT_EQ(second.stall, TimeClass::kStructural);
  EXPECT_EQ(Of(TimeClass::kDma), 32u);
  EXPECT_EQ(Of(TimeClass::kStructural), 240u);
}

TEST_F(DmaUnitTest, StartsAGatherWhenItsDescriptorsAreWritten) {
  Build();
  Work& work = Accept(0, Gather());
  OpenAt(200, *dma, work, 200, TimeClass::kTensor, Gate::kData);
  WriteDescriptors(300, work, 8);
  Run();
  EXPECT_EQ(work.start, 300u);
  EXPECT_EQ(DoneAt(0), 300 + kStart + kBlock + kLatency);
  EXPECT_EQ(work.stall, TimeClass::kGpSimd);
  EXPECT_EQ(Of(TimeClass::kGpSimd), 300u);
  EXPECT_EQ(Of(TimeClass::kStructural), kStart) << "no generator";
}

TEST_F(DmaUnitTest, StartsAGatherWhenItsDataIsReady) {
  Build();
  Work& work = Accept(0, Gather());
  WriteDescriptors(300, work, 4);
  OpenAt(480, *dma, work, 500, TimeClass::kTensor, Gate::kData);
  Run();
  EXPECT_EQ(work.start, 500u);
  EXPECT_EQ(DoneAt(0), 500 + kStart + kBlock / 2 + kLatency) << "4 rows of 8";
  EXPECT_EQ(work.stall, TimeClass::kTensor);
  EXPECT_EQ(Of(TimeClass::kTensor), 500u);
  EXPECT_EQ(Of(TimeClass::kGpSimd), 0u);
}

TEST_F(DmaUnitTest, WaitsForADataGateThatOpensLaterThanItsDescriptors) {
  Build();
  Work& work = Accept(0, Gather());
  OpenAt(200, *dma, work, 900, TimeClass::kVector, Gate::kData);
  WriteDescriptors(300, work, 8);
  Run();
  EXPECT_EQ(work.start, 900u);
  EXPECT_EQ(Of(TimeClass::kVector), 900u);
}

TEST_F(DmaUnitTest, EndsAGatherOfNoRowsAtOnce) {
  Build();
  Work& work = Accept(0, Gather());
  OpenAt(0, *dma, work, 0, TimeClass::kStructural, Gate::kData);
  WriteDescriptors(300, work, 0);
  Run();
  EXPECT_EQ(DoneAt(0), 300 + kStart + 2) << "the even phase behind its arrival";
  EXPECT_EQ(dma->stats().descriptors, 0u);
}

TEST_F(DmaUnitTest, EndsASkippedCopyAtOnce) {
  Build(2, kSlow);
  isa::DmaCopy copy{.dst = Block(), .src = InHbm()};
  copy.src_offset = isa::ScalarOffset{.index = SbufTile(DType::kInt32, 4096, 1, 1),
                                      .limit = 10,
                                      .stride = 16,
                                      .oob = isa::OutOfBounds::kSkip};
  const std::int32_t outside = -1;
  std::memcpy(sbuf.At(0, 4096, 4), &outside, sizeof outside);
  Ready(0, copy);
  Run();
  EXPECT_EQ(DoneAt(0), kGenerator + kStart + 2);
  EXPECT_EQ(dma->stats().transfers, 1u);
  EXPECT_EQ(dma->stats().hbm_read, 0u);
  EXPECT_EQ(target->stats().read_bytes, 0u);
  EXPECT_EQ(Of(TimeClass::kBusy), 0u);
}

TEST_F(DmaUnitTest, ComputesAtItsOwnRate) {
  Build();
  isa::DmaCompute add{.dst = Block()};
  add.sources = {InHbm(), InHbm(8192)};
  Ready(0, add);
  Run();
  // Two sources of 512 bytes at half the rate, and 16 descriptors.
  EXPECT_EQ(DoneAt(0), 120u + (2 * 512 * 2 + 16 * 64) * 2 + kLatency);
  EXPECT_EQ(dma->stats().hbm_read, 1024u);
}

TEST_F(DmaUnitTest, MeetsThePeerBeforeItMovesASendRecv) {
  Build(1);
  Work& work = Ready(0, isa::SendRecv{.dst = Block(8), .src = Block()});
  Work& other = Ready(1, Within(8, 1));
  script.At(300, [&] { dma->Met(work, 501); });
  script.At(3000, [&] { dma->Exchanged(work, 3000); });
  Run();
  EXPECT_EQ(log.At("arrive", 0), 1u);
  EXPECT_EQ(other.start, 0u) << "a sendrecv takes no generator";
  EXPECT_EQ(log.At("sent", 0), 502 + kBlock);
  EXPECT_EQ(DoneAt(0), 3000u);
  EXPECT_EQ(dma->stats().sendrecv, 512u);
  EXPECT_EQ(dma->stats().hbm_read + dma->stats().hbm_write, 0u);
}

TEST_F(DmaUnitTest, RejectsAddressesBeyondTheStack) {
  Build();
  Ready(0, isa::DmaCopy{.dst = Block(), .src = InHbm(65536)});
  EXPECT_EQ(ErrorOfRun(),
            "instruction 0 (dma_copy) on core 0: 512 bytes at HBM address 0x10000, beyond the "
            "stack's capacity");
}

// 65,536 bytes from 64 on are four turns, of which the last ends behind the 65,536 of the stack.
TEST_F(DmaUnitTest, RejectsATurnThatEndsBeyondTheStack) {
  Build();
  Ready(0, isa::DmaCopy{.dst = SbufTile(DType::kFp32, 0, 1, 16384),
                        .src = test::Tile(Memory::kHbm, DType::kFp32, 64, 1, 16384)});
  EXPECT_EQ(ErrorOfRun(),
            "instruction 0 (dma_copy) on core 0: 16384 bytes at HBM address 0xc040, beyond the "
            "stack's capacity");
}

}  // namespace
}  // namespace bwmm::units
