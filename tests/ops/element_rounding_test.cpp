// Where element operations round and which of two zeros they keep, in values chosen by hand.
#include <gtest/gtest.h>

#include "model/ops/execute.h"
#include "tests/ops/element_memory.h"

namespace bwmm::ops {
namespace {

using isa::AluOp;
using isa::Memory;
using isa::Operand;
using test::Dense;
using test::ElementMemory;

constexpr std::uint32_t kPlusZero = 0, kMinusZero = 0x80000000;

// Element 0 of `dst` after the instruction.
std::uint32_t ResultOf(ElementMemory& memory, isa::Body body, const Operand& dst) {
  Execute(isa::Instruction{.engine = isa::Engine::kVector, .body = std::move(body)}, memory.core());
  return memory.Codes(dst).at(0);
}

TEST(Zeros, TheSecondOfTwoWinsInMaxAndMin) {
  ElementMemory memory(1);
  const Operand a = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 0);
  const Operand b = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 64);
  const Operand dst = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 128);
  for (const AluOp op : {AluOp::kMax, AluOp::kMin}) {
    for (const auto& [first, second] :
         {std::pair(kPlusZero, kMinusZero), std::pair(kMinusZero, kPlusZero)}) {
      memory.Fill(a, {first});
      memory.Fill(b, {second});
      const isa::TensorTensor both{.op = op, .dst = dst, .a = a, .b = b};
      EXPECT_EQ(ResultOf(memory, both, dst), second) << NameOf(op);
      const isa::TensorScalar scalar{.dst = dst, .src = a, .op0 = op, .scalar0 = b};
      EXPECT_EQ(ResultOf(memory, scalar, dst), second) << NameOf(op);
    }
  }
}

TEST(Zeros, AreEqual) {
  ElementMemory memory(1);
  const Operand a = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 0);
  const Operand b = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 64);
  const Operand dst = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 128);
  memory.Fill(a, {kPlusZero});
  memory.Fill(b, {kMinusZero});
  const isa::TensorTensor equal{.op = AluOp::kIsEqual, .dst = dst, .a = a, .b = b};
  EXPECT_EQ(ResultOf(memory, equal, dst), 0x3f800000U);
}

TEST(DmaCompute, RoundsAfterTheLastSourceOnly) {
  // 1 + 2^-8 is a tie that bf16 rounds to 1; 1 + 2^-8 + 2^-8 = 1 + 2^-7 is a bf16 number.
  ElementMemory memory(1);
  const Operand dst = Dense(Memory::kSbuf, DType::kBf16, 1, {1}, 512);
  isa::DmaCompute sum{.dst = dst};
  const std::vector<std::uint32_t> codes = {0x3f80, 0x3b80, 0x3b80};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    sum.sources.push_back(Dense(Memory::kSbuf, DType::kBf16, 1, {1}, 64 * i));
    memory.Fill(sum.sources.back(), {codes[i]});
  }
  EXPECT_EQ(ResultOf(memory, sum, dst), 0x3f81U);
}

TEST(DmaCompute, AddsFromTheLeft) {
  // 2^24 + 1 is a tie that fp32 rounds to 2^24, twice; from the right it would be 2^24 + 2.
  ElementMemory memory(1);
  const Operand dst = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 512);
  isa::DmaCompute sum{.dst = dst};
  const std::vector<std::uint32_t> codes = {0x4b800000, 0x3f800000, 0x3f800000};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    sum.sources.push_back(Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 64 * i));
    memory.Fill(sum.sources.back(), {codes[i]});
  }
  EXPECT_EQ(ResultOf(memory, sum, dst), 0x4b800000U);
}

}  // namespace
}  // namespace bwmm::ops
