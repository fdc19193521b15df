// How transfers are cut and spread, on cases small enough to count by hand.
#include "model/units/dma_plan.h"

#include <gtest/gtest.h>

#include <numeric>

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

std::vector<DmaPart> Plan(isa::Body body, std::int64_t rows_moved = 0) {
  return PlanTransfer({.body = std::move(body)}, rows_moved, {});
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
  std::int64_t read = 0, descriptors = 0;
  for (const DmaPart& part : Plan(gather, 100)) {
    read += part.hbm_read;
    descriptors += part.descriptors;
  }
  EXPECT_EQ(read, 100 * 512);
  EXPECT_GE(descriptors, 100);
  EXPECT_LE(descriptors, 100 + 16) << "a row may be counted on two engines, not more";
  EXPECT_TRUE(Plan(gather, 0).empty());
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
