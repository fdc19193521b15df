// How transfers are cut and spread, on cases small enough to count by hand.
#include "model/units/dma_plan.h"

#include <gtest/gtest.h>

#include <array>

#include "model/support/check.h"

namespace bwmm::units {
namespace {

using isa::Memory;
using isa::Operand;

Operand Tile(Memory memory, DType dtype, std::int64_t partitions, std::int64_t free,
             std::int64_t row_stride = 0) {
  Operand operand{.memory = memory,
                  .dtype = dtype,
                  .partitions = partitions,
                  .partition_stride = row_stride,
                  .rank = 1};
  operand.dims[0] = {.size = free, .stride = 1};
  return operand;
}

std::vector<DmaPart> Plan(isa::Body body, const std::vector<int>& lanes = {},
                          const DmaShape& shape = {}) {
  return PlanTransfer({.body = std::move(body)}, lanes, shape);
}

TEST(DmaPlan, GivesEachEngineItsEightPartitions) {
  const auto parts = Plan(isa::DmaCopy{.dst = Tile(Memory::kSbuf, DType::kBf16, 128, 512),
                                       .src = Tile(Memory::kHbm, DType::kBf16, 128, 512, 512)});
  ASSERT_EQ(parts.size(), 16u);
  for (int k = 0; k < 16; ++k) {
    EXPECT_EQ(parts[k].engine, k);
    EXPECT_EQ(parts[k].bytes, 8 * 1024);
    EXPECT_EQ(parts[k].descriptors, 8);
    EXPECT_EQ(parts[k].hbm_read, 8 * 1024);
    EXPECT_EQ(parts[k].hbm_write, 0);
    EXPECT_EQ(parts[k].read_address, 8u * k * 1024);
  }
}

TEST(DmaPlan, UsesFewEnginesForFewPartitions) {
  Operand dst = Tile(Memory::kSbuf, DType::kFp32, 12, 16);
  dst.partition = 32;
  const auto parts =
      Plan(isa::DmaCopy{.dst = dst, .src = Tile(Memory::kHbm, DType::kFp32, 12, 16, 16)});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].engine, 4);
  EXPECT_EQ(parts[0].bytes, 8 * 64);
  EXPECT_EQ(parts[1].engine, 5);
  EXPECT_EQ(parts[1].bytes, 4 * 64);
}

TEST(DmaPlan, CutsADescriptorAtEveryGap) {
  Operand src = Tile(Memory::kHbm, DType::kBf16, 8, 1, 1024);
  src.rank = 2;
  src.dims[0] = {.size = 4, .stride = 256};
  src.dims[1] = {.size = 32, .stride = 1};
  const auto parts =
      Plan(isa::DmaCopy{.dst = Tile(Memory::kSbuf, DType::kBf16, 8, 128), .src = src});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].descriptors, 8 * 4);
  EXPECT_EQ(parts[0].bytes, 8 * 256);
}

TEST(DmaPlan, CountsTheWiderSideOfAConversion) {
  const auto parts = Plan(isa::DmaCopy{.dst = Tile(Memory::kSbuf, DType::kFp32, 8, 128),
                                       .src = Tile(Memory::kHbm, DType::kBf16, 8, 128, 128)});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].bytes, 8 * 128 * 4);
  EXPECT_EQ(parts[0].hbm_read, 8 * 128 * 2);
}

TEST(DmaPlan, SpreadsOneLongRunWithinHbmOverAllEngines) {
  const auto parts = Plan(isa::DmaCopy{.dst = Tile(Memory::kHbm, DType::kBf16, 1, 65536),
                                       .src = Tile(Memory::kHbm, DType::kBf16, 1, 65536)});
  ASSERT_EQ(parts.size(), 16u);
  for (const DmaPart& part : parts) {
    EXPECT_EQ(part.bytes, 8192);
    EXPECT_EQ(part.hbm_read, 8192);
    EXPECT_EQ(part.hbm_write, 8192);
    EXPECT_EQ(part.descriptors, 1);
  }
}

TEST(DmaPlan, MovesOnlyTheRowsAGatherKeeps) {
  isa::DmaCopy gather{.dst = Tile(Memory::kSbuf, DType::kBf16, 128, 256),
                      .src = Tile(Memory::kHbm, DType::kBf16, 128, 256, 256)};
  gather.gather = isa::VectorOffset{.index = Tile(Memory::kSbuf, DType::kInt32, 128, 1)};
  std::vector<int> lanes;
  for (int lane = 0; lane < 100; ++lane)
    lanes.push_back(lane);
  std::int64_t read = 0, descriptors = 0;
  for (const DmaPart& part : Plan(gather, lanes)) {
    read += part.hbm_read;
    descriptors += part.descriptors;
  }
  EXPECT_EQ(read, 100 * 512);
  EXPECT_EQ(descriptors, 100);
  EXPECT_TRUE(Plan(gather).empty());
}

// The scales of one expert: 4 rows in each quadrant, so 4 engines move 4 rows each, 8 KiB per row.
TEST(DmaPlan, MovesGatheredRowsOnTheEnginesOfTheirPartitions) {
  Operand dst = Tile(Memory::kSbuf, DType::kUint8, 128, 8192);
  isa::DmaCopy gather{.dst = dst, .src = Tile(Memory::kHbm, DType::kUint8, 128, 8192, 8192)};
  gather.gather = isa::VectorOffset{.index = Tile(Memory::kSbuf, DType::kInt32, 128, 1)};
  std::vector<int> lanes;
  for (const int quadrant : {0, 32, 64, 96}) {
    for (int row = 0; row < 4; ++row)
      lanes.push_back(quadrant + row);
  }
  const auto parts = Plan(gather, lanes);
  ASSERT_EQ(parts.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(parts[i].engine, 4 * i);
    EXPECT_EQ(parts[i].bytes, 4 * 8192);
    EXPECT_EQ(parts[i].descriptors, 4);
  }
}

TEST(DmaPlan, SpreadsGatheredRowsWithinHbmOverAllEngines) {
  isa::DmaCopy gather{.dst = Tile(Memory::kHbm, DType::kUint8, 64, 512, 512),
                      .src = Tile(Memory::kHbm, DType::kUint8, 64, 512, 512)};
  gather.gather = isa::VectorOffset{.index = Tile(Memory::kSbuf, DType::kInt32, 64, 1)};
  std::vector<int> lanes;
  for (int lane = 0; lane < 64; lane += 2)
    lanes.push_back(lane);
  const auto parts = Plan(gather, lanes);
  ASSERT_EQ(parts.size(), 16u);
  for (const DmaPart& part : parts) {
    EXPECT_EQ(part.bytes, 2 * 512);
    EXPECT_EQ(part.descriptors, 2);
  }
}

TEST(DmaPlan, TakesAllScatteredRowsFromASourceOfOnePartition) {
  Operand src = Tile(Memory::kSbuf, DType::kUint8, 1, 512);
  src.partition = 127;
  isa::DmaCopy scatter{.dst = Tile(Memory::kHbm, DType::kUint8, 16, 512, 512), .src = src};
  scatter.scatter = isa::VectorOffset{.index = Tile(Memory::kSbuf, DType::kInt32, 16, 1)};
  const auto parts = Plan(scatter, {0, 5, 15});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].engine, 15);
  EXPECT_EQ(parts[0].hbm_write, 3 * 512);
}

// 40,000 bytes and 7 descriptors in turns of at most 16,384 bytes: thirds, rounded down as they
// come.
TEST(DmaPlan, CutsAPartIntoTurnsThatAddUp) {
  const DmaPart part{.engine = 3,
                     .bytes = 40'000,
                     .descriptors = 7,
                     .hbm_read = 20'000,
                     .hbm_write = 5,
                     .read_address = 64,
                     .write_address = 128};
  ASSERT_EQ(TurnsOf(part, 16384), 3);
  const std::int64_t bytes[] = {13'333, 13'333, 13'334}, descriptors[] = {2, 2, 3};
  const std::int64_t read[] = {6'666, 6'667, 6'667}, written[] = {1, 2, 2};
  const std::uint64_t from[] = {64, 6'730, 13'397}, to[] = {128, 129, 131};
  for (int i = 0; i < 3; ++i) {
    const DmaPart turn = TurnOf(part, i, 3);
    EXPECT_EQ(turn.engine, 3);
    EXPECT_EQ(turn.bytes, bytes[i]);
    EXPECT_EQ(turn.descriptors, descriptors[i]);
    EXPECT_EQ(turn.hbm_read, read[i]);
    EXPECT_EQ(turn.hbm_write, written[i]);
    EXPECT_EQ(turn.read_address, from[i]);
    EXPECT_EQ(turn.write_address, to[i]);
  }
  EXPECT_EQ(TurnsOf(part, 40'000), 1);
  EXPECT_EQ(TurnsOf({.bytes = 0}, 512), 1);
}

TEST(DmaPlan, ComputesAtHalfTheCopyRate) {
  isa::DmaCompute add{.dst = Tile(Memory::kHbm, DType::kFp32, 1, 16384)};
  add.sources = {Tile(Memory::kHbm, DType::kFp32, 1, 16384),
                 Tile(Memory::kHbm, DType::kFp32, 1, 16384)};
  std::int64_t bytes = 0, read = 0, written = 0;
  for (const DmaPart& part : Plan(add)) {
    bytes += part.bytes;
    read += part.hbm_read;
    written += part.hbm_write;
  }
  EXPECT_EQ(bytes, 2 * 2 * 65536);
  EXPECT_EQ(read, 2 * 65536);
  EXPECT_EQ(written, 65536);
}

TEST(DmaPlan, GivesTheRemainderOfASplitToSomebody) {
  // 5003 elements over 16 engines: part k ends behind element 5003 (k + 1) / 16, rounded down.
  const auto parts = Plan(isa::DmaCopy{.dst = Tile(Memory::kHbm, DType::kBf16, 1, 5003),
                                       .src = Tile(Memory::kHbm, DType::kBf16, 1, 5003)});
  ASSERT_EQ(parts.size(), 16u);
  std::int64_t before = 0;
  for (int k = 0; k < 16; ++k) {
    const std::int64_t end = 5003 * (k + 1) / 16;
    EXPECT_EQ(parts[k].engine, k);
    EXPECT_EQ(parts[k].bytes, 2 * (end - before));
    EXPECT_EQ(parts[k].hbm_read, 2 * (end - before));
    EXPECT_EQ(parts[k].hbm_write, 2 * (end - before));
    before = end;
  }
  EXPECT_EQ(before, 5003);
}

TEST(DmaPlan, CutsARunOfHbmIntoPiecesOfAtLeast512Bytes) {
  const auto pieces = [](std::int64_t bytes) {
    return Plan(isa::DmaCopy{.dst = Tile(Memory::kHbm, DType::kUint8, 1, bytes),
                             .src = Tile(Memory::kHbm, DType::kUint8, 1, bytes)})
        .size();
  };
  EXPECT_EQ(pieces(100), 1u);
  EXPECT_EQ(pieces(1023), 1u);
  EXPECT_EQ(pieces(1024), 2u);
  EXPECT_EQ(pieces(16 * 512 - 1), 15u);
  EXPECT_EQ(pieces(100000), 16u);
}

TEST(DmaPlan, SpreadsManyRowsOfHbmEvenlyOverTheEngines) {
  // 100 rows with gaps are 100 descriptors; row u goes to engine 16 u / 100, rounded down.
  const auto parts = Plan(isa::DmaCopy{.dst = Tile(Memory::kHbm, DType::kFp32, 100, 8, 64),
                                       .src = Tile(Memory::kHbm, DType::kFp32, 100, 8, 8)});
  std::array<std::int64_t, 16> rows{};
  for (int u = 0; u < 100; ++u)
    ++rows[16 * u / 100];
  ASSERT_EQ(parts.size(), 16u);
  std::uint64_t row = 0;
  for (int k = 0; k < 16; ++k) {
    EXPECT_EQ(parts[k].engine, k);
    EXPECT_EQ(parts[k].descriptors, rows[k]);
    EXPECT_EQ(parts[k].bytes, rows[k] * 32);
    EXPECT_EQ(parts[k].read_address, row * 32);
    EXPECT_EQ(parts[k].write_address, row * 256);
    row += static_cast<std::uint64_t>(rows[k]);
  }
}

TEST(DmaPlan, RoundsThePartitionsOfAnEngineUp) {
  // 128 partitions over 10 engines: 13 each, so partition 40 belongs to engine 3.
  Operand dst = Tile(Memory::kSbuf, DType::kFp32, 24, 4);
  dst.partition = 40;
  const auto parts =
      Plan(isa::DmaCopy{.dst = dst, .src = Tile(Memory::kHbm, DType::kFp32, 24, 4, 4)}, {},
           {.engines = 10});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].engine, 3);
  EXPECT_EQ(parts[0].bytes, (52 - 40) * 16);
  EXPECT_EQ(parts[1].engine, 4);
  EXPECT_EQ(parts[1].bytes, 12 * 16);
}

TEST(DmaPlan, ComputesAtTheRateOfTheMachine) {
  isa::DmaCompute add{.dst = Tile(Memory::kSbuf, DType::kFp32, 1, 25)};
  add.sources = {Tile(Memory::kHbm, DType::kFp32, 1, 25)};
  // 100 bytes at 100 %, 40 % and 30 % of the rate, rounded up.
  EXPECT_EQ(Plan(add, {}, {.compute_percent = 100}).at(0).bytes, 100);
  EXPECT_EQ(Plan(add, {}, {.compute_percent = 40}).at(0).bytes, 250);
  EXPECT_EQ(Plan(add, {}, {.compute_percent = 30}).at(0).bytes, 334);
  // Copies know no such rate.
  EXPECT_EQ(Plan(isa::DmaCopy{.dst = add.dst, .src = add.sources[0]}, {}, {.compute_percent = 40})
                .at(0)
                .bytes,
            100);
}

TEST(DmaPlan, CountsASourceFarWiderThanTheRest) {
  isa::DmaCompute add{.dst = Tile(Memory::kSbuf, DType::kBf16, 1, 32)};
  add.sources = {Tile(Memory::kHbm, DType::kBf16, 1, 32), Tile(Memory::kSbuf, DType::kFp32, 1, 32)};
  const DmaPart part = Plan(add, {}, {.compute_percent = 100}).at(0);
  EXPECT_EQ(part.bytes, 2 * 32 * 4) << "each source at the widest element";
  EXPECT_EQ(part.descriptors, 2);
  EXPECT_EQ(part.hbm_read, 32 * 2) << "one of them lies in SBUF";
}

TEST(DmaPlan, SendsWhatTheSourceHolds) {
  Operand src = Tile(Memory::kSbuf, DType::kBf16, 16, 64);
  src.partition = 16;
  const auto parts =
      Plan(isa::SendRecv{.dst = Tile(Memory::kSbuf, DType::kBf16, 16, 64), .src = src});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].engine, 2);
  EXPECT_EQ(parts[0].bytes, 8 * 128);
  EXPECT_EQ(parts[0].descriptors, 8);
  EXPECT_EQ(parts[0].hbm_read + parts[0].hbm_write, 0);
}

TEST(DmaPlan, RejectsWhatTheDmaUnitDoesNotCarryOut) {
  EXPECT_THROW(Plan(isa::CoreBarrier{}), CheckFailure);
  EXPECT_THROW(Plan(isa::RegisterLoad{}), CheckFailure);
}

TEST(DmaPlan, KeepsScatteredRowsApart) {
  isa::DmaCopy scatter{.dst = Tile(Memory::kHbm, DType::kBf16, 8, 64, 64),
                       .src = Tile(Memory::kSbuf, DType::kBf16, 8, 64)};
  scatter.dst.offset = 4096;
  scatter.scatter = isa::VectorOffset{.index = Tile(Memory::kSbuf, DType::kInt32, 8, 1)};
  const auto parts = Plan(scatter, {0, 1, 2, 4, 6, 7});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].bytes, 6 * 128);
  EXPECT_EQ(parts[0].descriptors, 6);
  EXPECT_EQ(parts[0].hbm_write, 6 * 128);
  EXPECT_EQ(parts[0].write_address, 4096u) << "the table's";
}

TEST(DmaPlan, ConservesBytesForOddShapes) {
  for (std::int64_t partitions = 1; partitions <= 128; ++partitions) {
    for (const std::int64_t free : {1, 3, 100, 2880}) {
      std::int64_t read = 0;
      for (const DmaPart& part :
           Plan(isa::DmaCopy{.dst = Tile(Memory::kSbuf, DType::kBf16, partitions, free),
           .src = Tile(Memory::kHbm, DType::kBf16, partitions, free, free)}))
        read += part.hbm_read;
      EXPECT_EQ(read, partitions * free * 2);
    }
  }
}

}  // namespace
}  // namespace bwmm::units
