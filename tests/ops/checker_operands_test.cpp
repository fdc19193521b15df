// The memory checker looks at every operand an instruction reads: each is left unwritten in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/ops/executor.h"
#include "model/ops/memory_check.h"
#include "model/support/sim_error.h"
#include "tests/ops/element_memory.h"
#include "tests/system/program_parts.h"

namespace bwmm::ops {
namespace {

using isa::Memory;
using isa::Operand;
using test::Dense;
using test::ElementMemory;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Operand Sbuf(std::uint64_t offset, DType dtype = DType::kBf16) {
  return Dense(Memory::kSbuf, dtype, 32, {8}, offset);
}
Operand Psum() {
  return Dense(Memory::kPsum, DType::kFp32, 32, {8});
}

// An instruction and the name and place of each operand it reads.
struct Case {
  std::string name;
  isa::Body body;
  std::vector<std::pair<std::string, Operand>> reads;
};

std::vector<Case> Cases() {
  const Operand a = Sbuf(0), b = Sbuf(64), dst = Sbuf(128);
  const Operand column = Dense(Memory::kSbuf, DType::kFp32, 32, {1}, 192);
  const Operand other = Dense(Memory::kSbuf, DType::kFp32, 32, {1}, 256);
  const Operand word = Dense(Memory::kSbuf, DType::kInt32, 1, {1}, 320);
  isa::DmaCompute sum{.dst = dst};
  sum.sources = {a, b};
  return {
      {"activation",
       isa::ActivationOp{.dst = dst, .src = a, .bias = column},
       {{"src", a}, {"bias", column}}},
      {"tensor_tensor", isa::TensorTensor{.dst = dst, .a = a, .b = b}, {{"a", a}, {"b", b}}},
      {"tensor_scalar",
       isa::TensorScalar{
           .dst = dst, .src = a, .scalar0 = column, .op1 = isa::AluOp::kAdd, .scalar1 = other},
       {{"src", a}, {"scalar0", column}, {"scalar1", other}}},
      {"scalar_tensor_tensor",
       isa::ScalarTensorTensor{.dst = dst, .data = a, .scalar = column, .tensor = b},
       {{"data", a}, {"scalar", column}, {"tensor", b}}},
      {"tensor_reduce", isa::TensorReduce{.dst = column, .src = a}, {{"src", a}}},
      {"max8", isa::Max8{.dst = dst, .src = a}, {{"src", a}}},
      {"tensor_copy", isa::TensorCopy{.dst = dst, .src = a}, {{"src", a}}},
      {"quantize_mx",
       isa::QuantizeMx{.dst = Dense(Memory::kSbuf, DType::kFp8E4M3FnX4, 32, {2}, 128),
                       .dst_scale = Dense(Memory::kSbuf, DType::kE8M0, 32, {2}, 384),
                       .src = a},
       {{"src", a}}},
      {"load_stationary", isa::LoadStationary{.stationary = a}, {{"stationary", a}}},
      {"multiply_moving",
       isa::MultiplyMoving{.dst = Psum(), .moving = a, .accumulate = true},
       {{"moving", a}, {"accumulating dst", Psum()}}},
      {"dma_copy", isa::DmaCopy{.dst = dst, .src = a}, {{"src", a}}},
      {"dma_compute", sum, {{"source", a}, {"source", b}}},
      {"sendrecv", isa::SendRecv{.dst = dst, .src = a, .peer = 1}, {{"src", a}}},
      {"register_load", isa::RegisterLoad{.src = word}, {{"src", word}}},
  };
}

// The error, or "" when the checker has nothing to say. All operands but `left_out` are written
// before.
std::string Observed(const Case& c, std::size_t left_out) {
  ElementMemory memory(1);
  MemoryChecker checker(isa::Limits{}, memory.core());
  const auto observe = [&](isa::Body body) {
    checker.Observe({.id = 9, .engine = isa::Engine::kVector, .body = std::move(body)},
                    "at cycle 77");
  };
  for (std::size_t i = 0; i < c.reads.size(); ++i) {
    if (i != left_out)
      observe(isa::Memset{.dst = c.reads[i].second});
  }
  try {
    observe(c.body);
  } catch (const SimError& error) {
    return error.what();
  }
  return "";
}

TEST(CheckerOperands, AcceptsInstructionsWhoseOperandsAreWritten) {
  for (const Case& c : Cases())
    EXPECT_EQ(Observed(c, c.reads.size()), "") << c.name;
}

TEST(CheckerOperands, RejectsEachOperandNobodyWrote) {
  for (const Case& c : Cases()) {
    for (std::size_t i = 0; i < c.reads.size(); ++i) {
      EXPECT_THAT(Observed(c, i), HasSubstr("instruction 9 (" + c.name + ") on core 0: " +
                                            c.reads[i].first + " reads bytes never written"));
    }
  }
}

// A quantize_mx of 32 partitions writes the scales of its quadrant into the first 4.
TEST(CheckerOperands, RejectsPartitionsOfAScaleThatHoldNone) {
  ElementMemory memory(1);
  MemoryChecker checker(isa::Limits{}, memory.core());
  const auto observe = [&](isa::Body body) {
    checker.Observe({.id = 9, .engine = isa::Engine::kVector, .body = std::move(body)}, "");
  };
  observe(isa::Memset{.dst = Sbuf(0)});
  observe(isa::QuantizeMx{.dst = Dense(Memory::kSbuf, DType::kFp8E4M3FnX4, 32, {2}, 128),
                          .dst_scale = Dense(Memory::kSbuf, DType::kE8M0, 32, {2}, 384),
                          .src = Sbuf(0)});
  const auto scales = [](std::int64_t partitions) {
    return isa::DmaCopy{.dst = Dense(Memory::kSbuf, DType::kE8M0, partitions, {2}, 512),
                        .src = Dense(Memory::kSbuf, DType::kE8M0, partitions, {2}, 384)};
  };
  EXPECT_NO_THROW(observe(scales(4)));
  EXPECT_THAT([&] { observe(scales(5)); }, ThrowsMessage<SimError>(HasSubstr("never written")));
}

TEST(CheckerOperands, RejectsRowsThatNoIndexOfAScatterNamed) {
  Hbm hbm;
  HbmTensor& table = hbm.Allocate("table", DType::kBf16, {8, 4}, true);
  table.written.assign(table.bytes / 4, false);
  HbmTensor& numbers = hbm.Allocate("numbers", DType::kInt32, {2, 1}, true);
  test::FillInt32(numbers, {5, 6});
  const auto program = [&](std::int64_t row) {
    return [&, row](isa::Sink& sink) {
      if (sink.core() != 0)
        return;
      const Operand index = test::SbufTile(DType::kInt32, 64, 2, 1);
      const Operand tile = test::SbufTile(DType::kBf16, 0, 2, 4);
      sink.Emit(isa::Engine::kVector, isa::Memset{.dst = tile});
      sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = index, .src = test::Rows(numbers, 0, 2)});
      isa::DmaCopy scatter{.dst = test::Rows(table, 0, 2), .src = tile};
      scatter.scatter = isa::VectorOffset{.index = index, .rows = 8, .row_stride = 4};
      sink.Emit(isa::Engine::kGpSimd, scatter);
      sink.Emit(isa::Engine::kSync, isa::DmaCopy{.dst = tile, .src = test::Rows(table, row, 2)});
    };
  };
  EXPECT_NO_THROW(RunSequentially({}, hbm, program(5)));
  table.written.assign(table.bytes / 4, false);
  EXPECT_THAT([&] { RunSequentially({}, hbm, program(0)); },
              ThrowsMessage<SimError>(HasSubstr("src reads bytes never written")));
}

// HBM is followed in words of 4 bytes; a tensor of 6-byte rows has half words.
class CheckerHalfWords : public testing::Test {
 protected:
  CheckerHalfWords() { table.written.assign((table.bytes + 3) / 4, false); }
  Operand Columns(std::int64_t count) const {
    Operand row = Dense(Memory::kHbm, DType::kBf16, 1, {count}, table.address);
    row.partition_stride = 3;
    return row;
  }
  static Operand Tile(std::int64_t count) {
    return Dense(Memory::kSbuf, DType::kBf16, 1, {count}, 0);
  }
  void Observe(isa::Body body) {
    checker.Observe({.id = 9, .engine = isa::Engine::kSync, .body = std::move(body)}, "");
  }
  void WriteColumns(std::int64_t count) {
    Observe(isa::Memset{.dst = Tile(3)});
    Observe(isa::DmaCopy{.dst = Columns(count), .src = Tile(count)});
  }

  ElementMemory memory{1};
  HbmTensor& table = memory.hbm().Allocate("table", DType::kBf16, {1, 3}, true);
  MemoryChecker checker{isa::Limits{}, memory.core()};
};

TEST_F(CheckerHalfWords, AcceptReadingAHalfWordThatWasWritten) {
  WriteColumns(3);
  EXPECT_NO_THROW(Observe(isa::DmaCopy{.dst = Tile(3), .src = Columns(3)}));
}

TEST_F(CheckerHalfWords, RejectsReadingAHalfWordThatWasNot) {
  WriteColumns(2);
  EXPECT_NO_THROW(Observe(isa::DmaCopy{.dst = Tile(2), .src = Columns(2)}));
  EXPECT_THROW(Observe(isa::DmaCopy{.dst = Tile(3), .src = Columns(3)}), SimError);
}

}  // namespace
}  // namespace bwmm::ops
