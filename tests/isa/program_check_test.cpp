// A MultiplyMoving against the LoadStationary before it.
#include "model/isa/program_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Operand Dense(Memory memory, DType dtype, std::int64_t partitions, std::int64_t free,
              std::uint64_t offset = 0) {
  Operand operand{
      .memory = memory, .dtype = dtype, .partitions = partitions, .offset = offset, .rank = 1};
  operand.dims[0].size = free;
  return operand;
}

struct ProgramCheckTest : testing::Test {
  void Add(Body body) {
    check.Add({.id = next++, .core = 1, .engine = Engine::kTensor, .body = std::move(body)});
  }
  void Load(std::int64_t k, std::int64_t m, PeMode mode = PeMode::kOrdinary,
            DType dtype = DType::kBf16) {
    Add(LoadStationary{.mode = mode, .stationary = Dense(Memory::kSbuf, dtype, k, m)});
  }
  void Move(std::int64_t m, std::int64_t k, std::int64_t n) {
    Add(MultiplyMoving{.dst = Dense(Memory::kPsum, DType::kFp32, m, n),
                       .moving = Dense(Memory::kSbuf, DType::kBf16, k, n, 4096)});
  }
  void Transpose(std::int64_t partitions, std::int64_t free, DType dtype = DType::kBf16) {
    Add(MultiplyMoving{.mode = PeMode::kTranspose,
                       .dst = Dense(Memory::kPsum, dtype, partitions, free),
                       .moving = Dense(Memory::kSbuf, DType::kBf16, 64, 32)});
  }
  template <typename F>
  void ExpectRefused(F f, const char* rule) {
    EXPECT_THAT(f, ThrowsMessage<SimError>(AllOf(HasSubstr("instruction " + std::to_string(next)),
                                                 HasSubstr("(multiply_moving) on core 1"),
                                                 HasSubstr(rule))));
  }

  std::uint32_t next = 0;
  ProgramCheck check{Limits{}};
};

TEST_F(ProgramCheckTest, AFittingPairPasses) {
  Load(64, 32);
  EXPECT_NO_THROW(Move(32, 64, 100));
  EXPECT_NO_THROW(Move(32, 64, 512));  // the weights stay
  Load(64, 32, PeMode::kTranspose);
  EXPECT_NO_THROW(Transpose(32, 64));
}

TEST_F(ProgramCheckTest, RejectsAMoveWithoutWeights) {
  ExpectRefused([&] { Move(32, 64, 100); }, "a load_stationary must come before it");
}

TEST_F(ProgramCheckTest, RejectsOtherPartitionsThanTheWeightsHaveColumns) {
  Load(64, 32);
  ExpectRefused([&] { Move(64, 64, 100); }, "dst must have 32 partitions");
  ExpectRefused([&] { Move(31, 64, 100); }, "dst must have 32 partitions");
}

TEST_F(ProgramCheckTest, RejectsAnotherContraction) {
  Load(64, 32);
  ExpectRefused([&] { Move(32, 32, 100); }, "moving must have 64 partitions");
  ExpectRefused([&] { Move(32, 128, 100); }, "moving must have 64 partitions");
}

TEST_F(ProgramCheckTest, RejectsAnotherMode) {
  Load(64, 32, PeMode::kTranspose);
  ExpectRefused([&] { Move(32, 64, 100); }, "mode must be transpose");
  Load(64, 32);
  ExpectRefused([&] { Transpose(32, 64); }, "mode must be ordinary");
}

TEST_F(ProgramCheckTest, CountsTheColumnsOfADoubleRowOnce) {
  Operand pairs = Dense(Memory::kSbuf, DType::kFp8E5M2, 64, 64);
  pairs.rank = 2;
  pairs.dims[0] = {.size = 2, .stride = 32};
  pairs.dims[1] = {.size = 32, .stride = 1};
  Add(LoadStationary{.mode = PeMode::kDoubleRow, .stationary = pairs});
  const auto move = [&](std::int64_t m) {
    Add(MultiplyMoving{.mode = PeMode::kDoubleRow,
                       .dst = Dense(Memory::kPsum, DType::kFp32, m, 32),
                       .moving = pairs});
  };
  EXPECT_NO_THROW(move(32));
  ExpectRefused([&] { move(64); }, "dst must have 32 partitions");
}

TEST_F(ProgramCheckTest, RejectsFloat32BesideAnotherType) {
  const auto load = [&](DType dtype, std::optional<PePart> part) {
    Add(LoadStationary{.stationary = Dense(Memory::kSbuf, dtype, 64, 32), .part = part});
  };
  const auto move = [&](DType dtype, std::optional<PePart> part) {
    Add(MultiplyMoving{.dst = Dense(Memory::kPsum, DType::kFp32, 32, 100),
                       .moving = Dense(Memory::kSbuf, dtype, 64, 100, 4096),
                       .part = part});
  };
  load(DType::kFp32, PePart::kHigh);
  EXPECT_NO_THROW(move(DType::kFp32, PePart::kHigh));
  EXPECT_NO_THROW(move(DType::kFp32, PePart::kLow));
  ExpectRefused([&] { move(DType::kBf16, std::nullopt); }, "float32 only");
  load(DType::kBf16, std::nullopt);
  ExpectRefused([&] { move(DType::kFp32, PePart::kLow); }, "float32 only");
}

TEST_F(ProgramCheckTest, RejectsATransposeThatDoesNotFit) {
  Load(64, 32, PeMode::kTranspose);
  ExpectRefused([&] { Transpose(32, 63); }, "dst must have 64 elements");
  ExpectRefused([&] { Transpose(32, 128); }, "dst must have 64 elements");
  ExpectRefused([&] { Transpose(64, 64); }, "dst must have 32 partitions");
  ExpectRefused([&] { Transpose(32, 64, DType::kFp32); }, "a dst of 2 bytes");
  Load(64, 32, PeMode::kTranspose, DType::kFp32);
  ExpectRefused([&] { Transpose(32, 64); }, "a dst of 4 bytes");
}

TEST_F(ProgramCheckTest, RejectsWhatOneInstructionShows) {
  EXPECT_THROW(Load(129, 32), SimError);
}

}  // namespace
}  // namespace bwmm::isa
