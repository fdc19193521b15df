// DMA copies and sums, element by element: patterns, broadcast, conversion, gather and scatter with
// both ways to treat an index out of bounds.
#include "model/ops/dma_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/sim_error.h"
#include "tests/ops/element_memory.h"

namespace bwmm::ops {
namespace {

using isa::Memory;
using isa::Operand;
using test::CodeOf;
using test::Dense;
using test::ElementMemory;
using test::ElementPlaces;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint32_t kSeed = 20260101;
constexpr std::int64_t kTableRows = 50, kColumns = 6;

struct DmaTest : testing::Test {
  DmaTest() {
    for (std::byte& byte : table.data)
      byte = static_cast<std::byte>(memory.random()());
  }

  // `rows` rows of the table from row `first`.
  Operand Table(std::int64_t rows, std::int64_t first = 0, DType dtype = DType::kBf16) const {
    return Dense(Memory::kHbm, dtype, rows, {kColumns},
                 table.address + 2 * kColumns * static_cast<std::uint64_t>(first));
  }
  Operand Index(const std::vector<std::int32_t>& indices) {
    const Operand o = Dense(Memory::kSbuf, DType::kInt32, std::ssize(indices), {1}, 2048);
    memory.Fill(o, {indices.begin(), indices.end()});
    return o;
  }
  isa::VectorOffset Rows(const std::vector<std::int32_t>& indices, isa::OutOfBounds oob) {
    return {.index = Index(indices), .rows = kTableRows, .row_stride = kColumns, .oob = oob};
  }

  ElementMemory memory{kSeed};
  HbmTensor& table = memory.hbm().Allocate("table", DType::kBf16, {kTableRows, kColumns}, true);
};

TEST_F(DmaTest, CopiesKeepBitsThroughAnyPattern) {
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    Operand src = test::RandomOperand(memory.random());
    src.memory = Memory::kSbuf;
    src.partition %= 64;
    src.offset = 0;
    if (src.span_bytes() > 2560)
      continue;
    Operand dst = Dense(Memory::kSbuf, src.dtype, src.partitions, {src.free_size()}, 2560);
    if (src.free_size() % 2 == 0) {
      dst.rank = 2;
      dst.dims[0] = {.size = src.free_size() / 2, .stride = 1};
      dst.dims[1] = {.size = 2, .stride = src.free_size()};
    }
    const auto codes = memory.Codes(src);
    Execute(isa::DmaCopy{.dst = dst, .src = src}, memory.core());
    ASSERT_EQ(memory.Codes(dst), codes) << isa::ToText(src) << " seed " << kSeed;
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

TEST_F(DmaTest, AChangeOfTypeGoesThroughFp32) {
  const Operand dst = Dense(Memory::kSbuf, DType::kFp8E5M2, 9, {kColumns});
  Execute(isa::DmaCopy{.dst = dst, .src = Table(9, 3)}, memory.core());
  const auto values = memory.Values(Table(9, 3));
  const auto codes = memory.Codes(dst);
  for (std::size_t i = 0; i < codes.size(); ++i)
    EXPECT_EQ(codes[i], CodeOf(DType::kFp8E5M2, values[i])) << i;
}

TEST_F(DmaTest, OneRowIsBroadcastToAllPartitions) {
  const Operand dst = Dense(Memory::kSbuf, DType::kBf16, 17, {kColumns});
  Execute(isa::DmaCopy{.dst = dst, .src = Table(1, 4)}, memory.core());
  const auto row = memory.Codes(Table(1, 4));
  const auto codes = memory.Codes(dst);
  for (std::size_t i = 0; i < codes.size(); ++i)
    EXPECT_EQ(codes[i], row[i % kColumns]) << i;
}

TEST_F(DmaTest, AGatherTakesTheNamedRowsAndSkipsOthers) {
  const std::vector<std::int32_t> ids = {7, 0, 49, 7, -1, 50, 12};
  const Operand dst = Dense(Memory::kSbuf, DType::kBf16, 7, {kColumns});
  const auto old = memory.Codes(dst);
  const isa::DmaCopy copy{
      .dst = dst, .src = Table(7), .gather = Rows(ids, isa::OutOfBounds::kSkip)};
  Execute(copy, memory.core());
  const auto codes = memory.Codes(dst);
  for (std::size_t p = 0; p < ids.size(); ++p) {
    const bool skipped = ids[p] < 0 || ids[p] >= kTableRows;
    const auto row = skipped ? std::vector<std::uint32_t>() : memory.Codes(Table(1, ids[p]));
    for (std::int64_t c = 0; c < kColumns; ++c) {
      EXPECT_EQ(codes[p * kColumns + c], skipped ? old[p * kColumns + c] : row[c])
          << "lane " << p << " column " << c;
    }
  }
  const DmaTraffic traffic = TrafficOf(copy, memory.core());
  EXPECT_THAT(traffic.lanes, testing::ElementsAre(0, 1, 2, 3, 6));
  EXPECT_EQ(traffic.rows_skipped, 2);
}

TEST_F(DmaTest, AScatterWritesTheNamedRowsAndNoOthers) {
  const std::vector<std::int32_t> ids = {3, -1, 49, 3};
  std::vector<std::uint32_t> expected = memory.Codes(Table(kTableRows));
  const Operand src = Dense(Memory::kSbuf, DType::kBf16, 4, {kColumns});
  const auto rows = memory.Codes(src);
  for (const std::size_t p : {0u, 2u, 3u}) {  // in lane order: the last of two equal rows stays
    for (std::int64_t c = 0; c < kColumns; ++c)
      expected[ids[p] * kColumns + c] = rows[p * kColumns + c];
  }
  Execute(isa::DmaCopy{.dst = Table(4), .src = src, .scatter = Rows(ids, isa::OutOfBounds::kSkip)},
          memory.core());
  EXPECT_EQ(memory.Codes(Table(kTableRows)), expected);
}

TEST_F(DmaTest, AScalarOffsetMovesTheWholeOperand) {
  const Operand dst = Dense(Memory::kSbuf, DType::kBf16, 5, {kColumns});
  isa::DmaCopy copy{.dst = dst, .src = Table(5)};
  copy.src_offset = {.index = Index({8}), .limit = 10, .stride = 5 * kColumns};
  Execute(copy, memory.core());
  EXPECT_EQ(memory.Codes(dst), memory.Codes(Table(5, 40)));

  copy.src_offset->index = Index({10});
  EXPECT_THAT([&] { Execute(copy, memory.core()); },
              ThrowsMessage<SimError>(AllOf(HasSubstr("offset 10"), HasSubstr("0..9"))));
  copy.src_offset->oob = isa::OutOfBounds::kSkip;
  const auto before = memory.Codes(dst);
  Execute(copy, memory.core());
  EXPECT_EQ(memory.Codes(dst), before);
}

TEST_F(DmaTest, RejectsAnIndexOutOfBoundsAndNamesLaneValueAndLimit) {
  for (const std::int32_t bad : {-1, 50, std::numeric_limits<std::int32_t>::min()}) {
    const isa::Instruction instruction{
        .id = 12,
        .core = 0,
        .body = isa::DmaCopy{.dst = Dense(Memory::kSbuf, DType::kBf16, 3, {kColumns}),
                             .src = Table(3),
                             .gather = Rows({1, 2, bad}, isa::OutOfBounds::kError)}};
    EXPECT_THAT([&] { Execute(instruction, memory.core()); },
                ThrowsMessage<SimError>(
                    AllOf(HasSubstr("instruction 12 (dma_copy) on core 0"), HasSubstr("lane 2"),
                          HasSubstr(fmt::format("index {}", bad)), HasSubstr("0..49"))));
  }
}

TEST_F(DmaTest, ComputeAddsLeftToRightInFp32AndRoundsOnce) {
  for (const DType type : {DType::kFp32, DType::kBf16}) {
    const Operand dst = Dense(Memory::kSbuf, type, 5, {kColumns}, 1024);
    isa::DmaCompute op{.dst = dst};
    for (int s = 0; s < 3; ++s) {
      op.sources.push_back(s == 1 ? Table(5, 7)
                                  : Dense(Memory::kSbuf, DType::kFp32, 5, {kColumns}, 64 * s));
    }
    std::vector<std::vector<double>> values;
    for (const Operand& source : op.sources)
      values.push_back(memory.Values(source));
    Execute(op, memory.core());
    const auto codes = memory.Codes(dst);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float first = static_cast<float>(values[0][i] + values[1][i]);
      const float sum = static_cast<float>(first + values[2][i]);
      EXPECT_EQ(codes[i], CodeOf(type, sum)) << i;
    }
  }
}

}  // namespace
}  // namespace bwmm::ops
