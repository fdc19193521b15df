// The DMA of one core alone, on a real arbiter and HBM target. By hand:
//   generator 20 ticks, start 100, HBM latency 40; an engine moves a byte in 2 ticks and a
//   descriptor costs as much as 64 bytes; HBM is fast, unless a test makes it 20 ticks per byte.
// A block of 8 partitions x 16 fp32 is 512 bytes and 8 descriptors of one engine: 2048 ticks.
#include "model/units/dma_unit.h"

#include <memory>

#include "model/units/hbm_target.h"
#include "tests/units/unit_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;

constexpr Tick kGenerator = 20, kStart = 100, kLatency = 40, kBlock = 2048;
constexpr std::int64_t kFast = 1'000'000, kSlow = 100;  // MB/s

class DmaUnitTest : public UnitTest {
 protected:
  void Build(int generators = 2, std::int64_t hbm_mb_s = kFast) {
    target = std::make_unique<HbmTarget>(
        "hbm", HbmTarget::Config{.cores = 1, .bandwidth_mb_s = hbm_mb_s, .capacity_bytes = 65536},
        time);
    dma = std::make_unique<DmaUnit>("dma",
                                    DmaUnit::Config{.shape = {},
                                                    .engine_mb_s = 1000,
                                                    .descriptor_bytes = 64,
                                                    .dge_instances = generators,
                                                    .dge = kGenerator,
                                                    .start = kStart,
                                                    .hbm_latency = kLatency},
                                    time, run, arbiter, memory);
    dma->retire(retire);
    dma->meeting(meeting);
    dma->hbm_socket.bind(target->socket(0));
  }
  Work& Accept(std::uint32_t id, isa::Body body, Tick emitted_at = 0) {
    Work& work = Add(id, Engine::kSync, std::move(body), emitted_at);
    script.At(emitted_at, [this, &work] { dma->Accept(work); });
    return work;
  }
  // Accepted and open from the start.
  Work& Ready(std::uint32_t id, isa::Body body) {
    Work& work = Accept(id, std::move(body));
    OpenAt(0, *dma, work, 0);
    return work;
  }
  static Operand Block(int partition = 0, std::int64_t partitions = 8) {
    return SbufTile(DType::kFp32, 0, partitions, 16, partition);
  }
  static Operand InHbm(std::uint64_t address = 64, std::int64_t rows = 8) {
    Operand operand = test::Tile(Memory::kHbm, DType::kFp32, address, rows, 16);
    operand.partition_stride = 16;
    return operand;
  }
  // Within SBUF, so that HBM takes no part: `partitions` of the engine of `partition`.
  static isa::DmaCopy Within(int partition, std::int64_t partitions = 8) {
    isa::DmaCopy copy{.dst = Block(partition, partitions), .src = Block(partition, partitions)};
    copy.dst.offset = 1024;
    return copy;
  }
  static isa::DmaCopy Gather() {
    isa::DmaCopy copy{.dst = Block(), .src = InHbm()};
    copy.gather = isa::VectorOffset{
        .index = SbufTile(DType::kInt32, 4096, 8, 1), .rows = 8, .row_stride = 16};
    return copy;
  }
  void WriteDescriptors(Tick tick, Work& work, std::int64_t rows) {
    script.At(tick, [=, this, &work] { dma->DescriptorsWritten(work, rows); });
  }
  Tick Of(TimeClass time_class) { return dma->ledger().ticks(time_class); }
  Tick DoneAt(std::uint32_t id) const { return log.At("complete", id); }

  PhaseArbiter arbiter{"arbiter", run};
  std::unique_ptr<HbmTarget> target;
  std::unique_ptr<DmaUnit> dma;
};

TEST_F(DmaUnitTest, TellsHowManyPartsWaitForTheEngines) {
  Build();
  Ready(0, Within(0));
  Ready(1, Within(0));
  Run();
  // Both arrive at 120, the engine takes one up at once and the other a block's time later.
  using Waiting = std::pair<Tick, std::int64_t>;
  EXPECT_THAT(retire.parts_waiting, ElementsAre(Waiting{121, 1}, Waiting{121, 2}, Waiting{121, 1},
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

TEST_F(DmaUnitTest, WaitsForAFreeGenerator) {
  Build(2);
  // One partition each, on engines 0, 1 and 2: (64 + 64) * 2 ticks.
  std::vector<const Work*> works;
  for (std::uint32_t i = 0; i < 3; ++i)
    works.push_back(&Ready(i, Within(8 * static_cast<int>(i), 1)));
  Run();
  EXPECT_EQ(works[0]->start, 0u);
  EXPECT_EQ(works[1]->start, 0u);
  EXPECT_EQ(works[2]->start, kGenerator);
  EXPECT_THAT(log.Of("complete"), ElementsAre(Seen{376, "complete", 0}, Seen{376, "complete", 1},
                                              Seen{376 + kGenerator, "complete", 2}));
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
  EXPECT_EQ(DoneAt(2), 120 + kGenerator + 256) << "on an engine of its own";
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

}  // namespace
}  // namespace bwmm::units
