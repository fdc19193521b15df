// HBM allocation and look-up, SBUF bounds, and the checker of reads nobody wrote.
#include "model/ops/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ops/memory_check.h"
#include "model/support/sim_error.h"
#include "tests/ops/element_memory.h"

namespace bwmm::ops {
namespace {

using isa::Memory;
using isa::Operand;
using test::Dense;
using test::ElementMemory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <typename F>
void ExpectRefused(F f, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_THAT(f, ThrowsMessage<SimError>(HasSubstr(word)));
}

TEST(Hbm, TensorsAreAlignedAndNeverOverlap) {
  Hbm hbm(1 << 16);
  std::uint64_t end = 0;
  for (const std::int64_t size : {1, 63, 64, 65, 0, 7}) {
    const HbmTensor& t = hbm.Allocate("t", DType::kUint8, {size}, true);
    EXPECT_EQ(t.address % 64, 0u);
    EXPECT_GT(t.address, 0u);
    EXPECT_GE(t.address, end);
    EXPECT_EQ(t.bytes, static_cast<std::uint64_t>(size));
    end = t.address + t.bytes + (t.bytes == 0 ? 1 : 0);
  }
}

TEST(Hbm, FindsTheTensorThatHoldsAllBytes) {
  Hbm hbm(1 << 16);
  const HbmTensor& a = hbm.Allocate("a", DType::kFp32, {10, 3}, true);
  const HbmTensor& b = hbm.Allocate("b", DType::kFp32, {5}, false);
  EXPECT_EQ(&hbm.Find(a.address + 116, 4), &a);
  EXPECT_EQ(&hbm.Find("b"), &b);
  EXPECT_EQ(hbm.At(a.address + 8, 4), a.data.data() + 8);
  EXPECT_EQ(hbm.At(b.address, 20), nullptr);
}

TEST(Hbm, TensorsLieWhereTheyAreToldTo) {
  Hbm hbm(1 << 16);
  const HbmTensor& high = hbm.AllocateAt(0x400, "high", DType::kUint8, {100}, true);
  const HbmTensor& low = hbm.AllocateAt(0x380, "low", DType::kUint8, {128}, true);
  EXPECT_EQ(high.address, 0x400U);
  EXPECT_EQ(low.address, 0x380U);
  EXPECT_EQ(hbm.Allocate("next", DType::kUint8, {1}, true).address, 0x480U);
  EXPECT_EQ(&hbm.Find(0x3ff, 1), &low);
}

TEST(Hbm, RejectsAddressesThatAreTakenOrNotAligned) {
  Hbm hbm(1 << 16);
  hbm.AllocateAt(0x400, "first", DType::kUint8, {100}, true);
  for (const std::uint64_t address : {0x0, 0x20, 0x3c0, 0x400, 0x440, 0xffc0, 0x20000}) {
    EXPECT_THROW(hbm.AllocateAt(address, "second", DType::kUint8, {65}, true), SimError) << address;
  }
  EXPECT_EQ(hbm.tensors().size(), 1U);
}

TEST(Hbm, RejectsWhatNoTensorHolds) {
  Hbm hbm(1024);
  const HbmTensor& a = hbm.Allocate("a", DType::kFp32, {10, 3}, true);
  ExpectRefused([&] { hbm.Find(a.address + 120, 4); }, {"tensor a", "4 bytes"});
  ExpectRefused([&] { hbm.Find(a.address + 118, 4); }, {"tensor a"});
  ExpectRefused([&] { hbm.Find(8, 4); }, {"0x8"});
  ExpectRefused([&] { hbm.Find("z"); }, {"called z"});
  ExpectRefused([&] { hbm.Allocate("c", DType::kFp32, {256}, true); },
                {"tensor c of 1024 bytes", "of 1024 bytes are free"});
}

TEST(Sbuf, RejectsPlacesOutside) {
  Sbuf sbuf(128, 256);
  EXPECT_NE(sbuf.At(127, 252, 4), nullptr);
  ExpectRefused([&] { sbuf.At(128, 0, 1); }, {"partition 128", "128 x 256"});
  ExpectRefused([&] { sbuf.At(-1, 0, 1); }, {"partition -1"});
  ExpectRefused([&] { sbuf.At(0, 253, 4); }, {"byte 253", "128 x 256"});
}

struct CheckerTest : testing::Test {
  CheckerTest() { table.written.assign((table.bytes + 3) / 4, false); }

  void Observe(isa::Body body) {
    checker.Observe({.id = 9, .core = 0, .engine = isa::Engine::kVector, .body = std::move(body)},
                    "at cycle 77");
  }
  void ExpectUnwritten(isa::Body body, const char* operand) {
    EXPECT_THAT([&] { Observe(body); },
                ThrowsMessage<SimError>(
                    AllOf(HasSubstr("instruction 9 ("), HasSubstr("on core 0"),
                          HasSubstr(std::string(operand) + " reads bytes never written"),
                          HasSubstr("at cycle 77"))));
  }
  static Operand Sbuf(std::initializer_list<std::int64_t> dims, std::uint64_t offset = 0) {
    return Dense(Memory::kSbuf, DType::kBf16, 32, dims, offset);
  }

  ElementMemory memory{1};
  HbmTensor& table = memory.hbm().Allocate("out", DType::kBf16, {64, 2, 8}, true);
  MemoryChecker checker{isa::Limits{}, memory.core()};
};

TEST_F(CheckerTest, WrittenBytesMayBeRead) {
  Observe(isa::Memset{.dst = Sbuf({8})});
  EXPECT_NO_THROW(Observe(isa::TensorCopy{.dst = Sbuf({8}, 64), .src = Sbuf({8})}));
  EXPECT_NO_THROW(Observe(isa::TensorCopy{.dst = Sbuf({8}, 128), .src = Sbuf({8}, 64)}));
}

TEST_F(CheckerTest, RejectsReadingOneByteTooManyInAnyDirection) {
  Observe(isa::Memset{.dst = Sbuf({8}, 64)});
  ExpectUnwritten(isa::TensorCopy{.dst = Sbuf({9}, 512), .src = Sbuf({9}, 64)}, "src");
  ExpectUnwritten(isa::TensorCopy{.dst = Sbuf({8}, 512), .src = Sbuf({8}, 62)}, "src");
  Operand wide = Sbuf({8}, 64);
  wide.partitions = 33;
  ExpectUnwritten(isa::TensorCopy{.dst = wide, .src = wide}, "src");
}

TEST_F(CheckerTest, GapsOfAPatternStayUnwritten) {
  Operand strided = Sbuf({4, 2}, 64);
  strided.dims[0].stride = 3;
  Observe(isa::Memset{.dst = strided});
  EXPECT_NO_THROW(Observe(isa::TensorCopy{.dst = strided, .src = strided}));
  ExpectUnwritten(isa::TensorCopy{.dst = Sbuf({3}, 512), .src = Sbuf({3}, 64)}, "src");
}

TEST_F(CheckerTest, RejectsAccumulatingIntoUnwrittenPsum) {
  const Operand psum = Dense(Memory::kPsum, DType::kFp32, 32, {8});
  Observe(isa::Memset{.dst = Sbuf({8})});
  ExpectUnwritten(isa::MultiplyMoving{.dst = psum, .moving = Sbuf({8}), .accumulate = true},
                  "accumulating dst");
  Observe(isa::MultiplyMoving{.dst = psum, .moving = Sbuf({8})});
  EXPECT_NO_THROW(
      Observe(isa::MultiplyMoving{.dst = psum, .moving = Sbuf({8}), .accumulate = true}));
}

TEST_F(CheckerTest, BytesOfANewTileAreUnwritten) {
  const auto copy = [&](std::uint64_t offset) {
    return isa::TensorCopy{.dst = Sbuf({8}, 1024), .src = Sbuf({8}, offset)};
  };
  checker.Allocated(Memory::kSbuf, 64, 64, "a");
  Observe(isa::Memset{.dst = Sbuf({64}, 0)});  // bytes 0..127
  EXPECT_NO_THROW(Observe(copy(64)));
  // Instruction 9 is the one observed: what is freed before it counts, what comes later does not.
  checker.Freed(Memory::kSbuf, 64, 10);
  EXPECT_NO_THROW(Observe(copy(64)));
  checker.Allocated(Memory::kSbuf, 64, 64, "b");
  checker.Freed(Memory::kSbuf, 64, 8);
  ExpectUnwritten(copy(64), "src");
  ExpectUnwritten(copy(62), "src");
  EXPECT_NO_THROW(Observe(copy(0)));
  Observe(isa::Memset{.dst = Sbuf({8}, 64)});
  EXPECT_NO_THROW(Observe(copy(64)));
  EXPECT_NO_THROW(Observe(copy(60)));
}

TEST_F(CheckerTest, RejectsTwoLiveTilesThatOverlap) {
  checker.Allocated(Memory::kSbuf, 128, 128, "a");
  checker.Allocated(Memory::kPsum, 128, 128, "other_memory");
  ExpectRefused([&] { checker.Allocated(Memory::kSbuf, 192, 64, "b"); },
                {"sbuf: tile b gets bytes 192..255", "tile a owns 128..255"});
  ExpectRefused([&] { checker.Allocated(Memory::kSbuf, 64, 128, "b"); }, {"tile a owns"});
  ExpectRefused([&] { checker.Allocated(Memory::kSbuf, 0, 1024, "b"); }, {"tile a owns"});
  EXPECT_NO_THROW(checker.Allocated(Memory::kSbuf, 256, 64, "c"));
  checker.Freed(Memory::kSbuf, 128, 0);
  EXPECT_NO_THROW(checker.Allocated(Memory::kSbuf, 64, 128, "b"));
}

// One plane of out [64, 2, 8]: rows of 8 with gaps of 8 between them.
TEST_F(CheckerTest, HbmRowsAreFollowedThroughTheirGaps) {
  Operand plane = Dense(Memory::kHbm, DType::kBf16, 2, {32, 8}, table.address);
  plane.partition_stride = 32 * 16;
  plane.dims[0].stride = 16;
  Operand other = plane;
  other.offset += 16;
  other.dims[0].size = 31;  // gaps only, all between written rows
  Observe(isa::Memset{.dst = Sbuf({32, 8})});
  Operand tile = Sbuf({32, 8});
  tile.partitions = 2;
  Observe(isa::DmaCopy{.dst = plane, .src = tile});
  EXPECT_NO_THROW(Observe(isa::DmaCopy{.dst = tile, .src = plane}));
  tile.dims[0].size = 31;
  ExpectUnwritten(isa::DmaCopy{.dst = tile, .src = other}, "src");
}

TEST_F(CheckerTest, ASkippedRowIsNotWritten) {
  const Operand index = Dense(Memory::kSbuf, DType::kInt32, 2, {1}, 2048);
  memory.Fill(index, {5, 0xffffffff});
  Observe(isa::Memset{.dst = index});
  table.written.clear();
  Operand rows = Sbuf({16});
  rows.partitions = 2;
  const Operand source = Dense(Memory::kHbm, DType::kBf16, 2, {16}, table.address);
  const isa::VectorOffset lanes{
      .index = index, .rows = 64, .row_stride = 16, .oob = isa::OutOfBounds::kSkip};
  Observe(isa::DmaCopy{.dst = rows, .src = source, .gather = lanes});
  ExpectUnwritten(isa::TensorCopy{.dst = rows, .src = rows}, "src");
  Operand first = rows;
  first.partitions = 1;
  EXPECT_NO_THROW(Observe(isa::TensorCopy{.dst = first, .src = first}));
}

TEST_F(CheckerTest, ASkippedOperandIsNotWritten) {
  const Operand index = Dense(Memory::kSbuf, DType::kInt32, 1, {1}, 2048);
  memory.Fill(index, {4});
  Observe(isa::Memset{.dst = index});
  table.written.clear();
  isa::DmaCopy copy{.dst = Sbuf({16}),
                    .src = Dense(Memory::kHbm, DType::kBf16, 32, {16}, table.address)};
  copy.src_offset = {.index = index, .limit = 4, .stride = 16, .oob = isa::OutOfBounds::kSkip};
  Observe(copy);
  ExpectUnwritten(isa::TensorCopy{.dst = Sbuf({16}), .src = Sbuf({16})}, "src");
}

}  // namespace
}  // namespace bwmm::ops
