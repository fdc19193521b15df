// Every line of the cost table, with the numbers worked out by hand.
#include "model/units/cost_table.h"

#include <gtest/gtest.h>

#include "model/support/check.h"

namespace bwmm::units {
namespace {

using isa::Engine;
using isa::Memory;
using isa::Operand;

Operand Tile(DType dtype, std::int64_t n, Memory memory = Memory::kSbuf, std::int64_t stride = 1) {
  Operand operand{.memory = memory, .dtype = dtype, .partitions = 128, .rank = 1};
  operand.dims[0] = {.size = n, .stride = stride};
  return operand;
}

std::int64_t Cycles(Engine engine, isa::Body body, const CostTable& table = {}) {
  return CostOf({.engine = engine, .body = std::move(body)}, table).occupancy;
}

constexpr DType kFp32 = DType::kFp32;
constexpr DType kBf16 = DType::kBf16;

TEST(CostTable, NeverCostsLessThanTheMinimum) {
  EXPECT_EQ(
      Cycles(Engine::kScalar, isa::ActivationOp{.dst = Tile(kFp32, 1), .src = Tile(kFp32, 1)}), 64);
  EXPECT_EQ(
      Cycles(Engine::kVector, isa::TensorCopy{.dst = Tile(kBf16, 200), .src = Tile(kBf16, 200)}),
      64);
}

TEST(CostTable, CountsOneCyclePerElementOfAnActivation) {
  EXPECT_EQ(
      Cycles(Engine::kScalar, isa::ActivationOp{.dst = Tile(kBf16, 512), .src = Tile(kFp32, 512)}),
      512);
}

TEST(CostTable, ReadsTheSumsOfAnActivationInTheMinimum) {
  isa::ActivationOp sums{
      .dst = Tile(kBf16, 512), .src = Tile(kFp32, 512), .reduce_res = Tile(kFp32, 1)};
  EXPECT_EQ(Cycles(Engine::kScalar, sums), 512 + 64);
  EXPECT_EQ(Cycles(Engine::kScalar, sums, {.min_interval = 10}), 512 + 10);
  sums.dst = sums.src = Tile(kFp32, 3);
  EXPECT_EQ(Cycles(Engine::kScalar, sums), 64 + 64);
}

TEST(CostTable, CopiesInThePerfModesOfTheVectorEngine) {
  const auto copy = [](Operand dst, Operand src) {
    return Cycles(Engine::kVector, isa::TensorCopy{.dst = dst, .src = src});
  };
  EXPECT_EQ(copy(Tile(kBf16, 1024), Tile(DType::kFp16, 1024)), 256);              // 4x
  EXPECT_EQ(copy(Tile(kBf16, 1024), Tile(kBf16, 1024, Memory::kSbuf, 2)), 512);   // 2x: strided
  EXPECT_EQ(copy(Tile(kBf16, 1024), Tile(kBf16, 1024, Memory::kPsum)), 512);      // 2x: one PSUM
  EXPECT_EQ(copy(Tile(kBf16, 1024), Tile(kBf16, 1024, Memory::kPsum, 2)), 1024);  // strided PSUM
  EXPECT_EQ(copy(Tile(kBf16, 1024), Tile(kFp32, 1024, Memory::kPsum)), 1024);     // fp32 in
  EXPECT_EQ(copy(Tile(kFp32, 1024), Tile(kFp32, 1024)), 512);                     // 2x: other types
  EXPECT_EQ(copy(Tile(kFp32, 1023), Tile(kBf16, 1023)), 512);                     // one of them
  EXPECT_EQ(copy(Tile(DType::kInt32, 1024), Tile(DType::kInt32, 1024)), 512);
  EXPECT_EQ(copy(Tile(kFp32, 1024), Tile(kFp32, 1024, Memory::kSbuf, 2)), 1024);  // strided
  EXPECT_EQ(copy(Tile(kFp32, 1024), Tile(kFp32, 1024, Memory::kPsum)), 1024);     // one PSUM
}

TEST(CostTable, TreatsFp8AsNarrowFromTheFourthGenerationOn) {
  for (const DType fp8 : {DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2}) {
    const isa::TensorCopy copy{.dst = Tile(kBf16, 1024), .src = Tile(fp8, 1024)};
    EXPECT_EQ(Cycles(Engine::kVector, copy), 256);
    EXPECT_EQ(Cycles(Engine::kVector, copy, {.fp8_modes = false}), 512);  // as other types
    EXPECT_EQ(Cycles(Engine::kScalar, copy), 512);
    EXPECT_EQ(Cycles(Engine::kScalar, copy, {.fp8_modes = false}), 1024);
    const isa::TensorTensor add{
        .dst = Tile(kBf16, 300), .a = Tile(fp8, 300), .b = Tile(kBf16, 300)};
    EXPECT_EQ(Cycles(Engine::kVector, add), 300);
    EXPECT_EQ(Cycles(Engine::kVector, add, {.fp8_modes = false}), 600);
  }
}

TEST(CostTable, GivesEachEngineItsLatency) {
  const auto latency = [](Engine engine) {
    return CostOf({.engine = engine, .body = isa::Memset{.dst = Tile(kFp32, 64)}},
                  {.vector_latency_cycles = 11, .scalar_latency_cycles = 22, .access_cycles = 33})
        .latency;
  };
  EXPECT_EQ(latency(Engine::kVector), 11);
  EXPECT_EQ(latency(Engine::kScalar), 22);
  EXPECT_EQ(latency(Engine::kGpSimd), 33);
  EXPECT_EQ(latency(Engine::kSync), 33);
}

TEST(CostTable, HasNoPerfModeWhenSwitchedOff) {
  EXPECT_EQ(
      Cycles(Engine::kVector, isa::TensorCopy{.dst = Tile(kBf16, 1024), .src = Tile(kBf16, 1024)},
             {.vector_perf_modes = false}),
      1024);
}

TEST(CostTable, GivesTheScalarEngineItsDoubleRate) {
  const isa::TensorScalar body{.dst = Tile(kBf16, 512), .src = Tile(kBf16, 512)};
  EXPECT_EQ(Cycles(Engine::kScalar, body), 256);
  EXPECT_EQ(Cycles(Engine::kScalar, body, {.scalar_2x = false}), 512);
  EXPECT_EQ(Cycles(Engine::kVector, body), 128);
  EXPECT_EQ(Cycles(Engine::kGpSimd, body), 512);
}

TEST(CostTable, ChargesTwoInputsTwiceUnlessNarrowOrInPsum) {
  const auto add = [](Operand a, Operand b) {
    return Cycles(Engine::kVector, isa::TensorTensor{.dst = Tile(a.dtype, 300), .a = a, .b = b});
  };
  EXPECT_EQ(add(Tile(kFp32, 300), Tile(kFp32, 300)), 600);
  EXPECT_EQ(add(Tile(kFp32, 300), Tile(kFp32, 300, Memory::kPsum)), 300);
  EXPECT_EQ(add(Tile(kBf16, 300), Tile(kBf16, 300)), 300);
  EXPECT_EQ(add(Tile(kBf16, 300), Tile(kFp32, 300)), 600);
}

TEST(CostTable, FusesSubtractThenMultiplyOfNarrowOperands) {
  isa::ScalarTensorTensor body{.dst = Tile(kBf16, 128),
                               .data = Tile(kBf16, 128),
                               .op0 = isa::AluOp::kSubtract,
                               .op1 = isa::AluOp::kMultiply,
                               .tensor = Tile(kBf16, 128)};
  EXPECT_EQ(Cycles(Engine::kVector, body), 128);
  body.op0 = isa::AluOp::kAdd;
  EXPECT_EQ(Cycles(Engine::kVector, body), 256);
  body.op0 = isa::AluOp::kSubtract;
  body.op1 = isa::AluOp::kAdd;
  EXPECT_EQ(Cycles(Engine::kVector, body), 256);
}

TEST(CostTable, FusesOnlyAnEvenNumberOfNarrowElements) {
  const auto cycles = [](std::int64_t n, DType data, DType tensor) {
    return Cycles(Engine::kVector, isa::ScalarTensorTensor{.dst = Tile(kBf16, n),
                                                           .data = Tile(data, n),
                                                           .op0 = isa::AluOp::kSubtract,
                                                           .op1 = isa::AluOp::kMultiply,
                                                           .tensor = Tile(tensor, n)});
  };
  EXPECT_EQ(cycles(130, kBf16, kBf16), 130);
  EXPECT_EQ(cycles(131, kBf16, kBf16), 262);
  EXPECT_EQ(cycles(130, kFp32, kBf16), 260);
  EXPECT_EQ(cycles(130, kBf16, kFp32), 260);
}

TEST(CostTable, ReducesNarrowTensorsAtTwiceTheRate) {
  EXPECT_EQ(
      Cycles(Engine::kVector, isa::TensorReduce{.dst = Tile(kBf16, 1), .src = Tile(kBf16, 512)}),
      256);
  EXPECT_EQ(
      Cycles(Engine::kVector, isa::TensorReduce{.dst = Tile(kFp32, 1), .src = Tile(kBf16, 512)}),
      512);
  EXPECT_EQ(
      Cycles(Engine::kVector, isa::TensorReduce{.dst = Tile(kBf16, 1), .src = Tile(kFp32, 512)}),
      512);
}

TEST(CostTable, CountsOneCyclePerElementOfAMax8) {
  const auto max8 = [](DType type, std::int64_t n) {
    return Cycles(Engine::kVector, isa::Max8{.dst = Tile(type, 8), .src = Tile(type, n)});
  };
  EXPECT_EQ(max8(kFp32, 8), 64);
  EXPECT_EQ(max8(kFp32, 256), 256);
  EXPECT_EQ(max8(kBf16, 256), 256);
}

TEST(CostTable, RoundsHalvesOfOddSizesUp) {
  const auto reduce = [](isa::AluOp op) {
    return Cycles(Engine::kVector,
                  isa::TensorReduce{.op = op, .dst = Tile(kBf16, 1), .src = Tile(kBf16, 513)});
  };
  EXPECT_EQ(reduce(isa::AluOp::kAdd), 257);
  EXPECT_EQ(reduce(isa::AluOp::kMax), 257);
  EXPECT_EQ(reduce(isa::AluOp::kMin), 513);
  EXPECT_EQ(Cycles(Engine::kVector, isa::Memset{.dst = Tile(kBf16, 513)}), 257);
  EXPECT_EQ(
      Cycles(Engine::kVector, isa::TensorCopy{.dst = Tile(kBf16, 513), .src = Tile(kBf16, 513)}),
      129);
}

TEST(CostTable, ZeroesNarrowTensorsAtTwiceTheRate) {
  EXPECT_EQ(Cycles(Engine::kVector, isa::Memset{.dst = Tile(kBf16, 512)}), 256);
  EXPECT_EQ(Cycles(Engine::kVector, isa::Memset{.dst = Tile(kBf16, 512), .value = 1.0f}), 512);
  EXPECT_EQ(Cycles(Engine::kVector, isa::Memset{.dst = Tile(kFp32, 512)}), 512);
}

TEST(CostTable, StartsIotaWithAFixedCost) {
  EXPECT_EQ(Cycles(Engine::kGpSimd, isa::Iota{.dst = Tile(DType::kInt32, 16)}), 166);
}

TEST(CostTable, QuantizesFourElementsPerCycle) {
  const isa::QuantizeMx body{.dst = Tile(DType::kFp8E4M3FnX4, 512),
                             .dst_scale = Tile(DType::kE8M0, 512),
                             .src = Tile(kBf16, 2048)};
  EXPECT_EQ(Cycles(Engine::kVector, body), 512);
  EXPECT_EQ(CostOf({.engine = Engine::kVector, .body = body}, {}).latency, 147);
  EXPECT_EQ(QuantizeMxCycles(512, {}), 514);
}

TEST(CostTable, ChargesDescriptorsByTheRow) {
  EXPECT_EQ(DescriptorCycles(0, {}), 150);
  EXPECT_EQ(DescriptorCycles(128, {}), 150 + 128 * 4);
}

TEST(CostTable, LoadsARegisterInTheMinimum) {
  EXPECT_EQ(Cycles(Engine::kSync, isa::RegisterLoad{.src = Tile(DType::kInt32, 1)}), 64);
}

TEST(CostTable, RejectsInstructionsWithoutALine) {
  EXPECT_THROW(Cycles(Engine::kSync, isa::DmaCopy{}), CheckFailure);
}

}  // namespace
}  // namespace bwmm::units
