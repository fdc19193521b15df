// Each rule of Validate: a valid instruction passes, the same one with a single thing wrong is
// refused by a line that names the value and the limit.
#include "model/isa/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "model/isa/text.h"
#include "model/support/sim_error.h"
#include "tests/isa/address_oracle.h"

namespace bwmm::isa {
namespace {

using test::Dense;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Operand Sbuf(DType dtype, std::int64_t partitions, std::initializer_list<std::int64_t> dims) {
  return Dense(Memory::kSbuf, dtype, partitions, dims);
}
Operand Psum(DType dtype, std::int64_t partitions, std::initializer_list<std::int64_t> dims) {
  return Dense(Memory::kPsum, dtype, partitions, dims);
}
Operand Hbm(DType dtype, std::int64_t rows, std::initializer_list<std::int64_t> dims) {
  return Dense(Memory::kHbm, dtype, rows, dims, 4096);
}

constexpr DType kX4 = DType::kFp8E4M3FnX4;

LoadStationary Load() {
  return {.stationary = Sbuf(DType::kBf16, 128, {128})};
}
LoadStationary LoadMx() {
  return {.mode = PeMode::kMx,
          .stationary = Sbuf(kX4, 128, {128}),
          .scale = Sbuf(DType::kE8M0, 128, {128})};
}
MultiplyMoving Multiply() {
  return {.dst = Psum(DType::kFp32, 128, {512}), .moving = Sbuf(DType::kBf16, 128, {512})};
}
MultiplyMoving MultiplyMx() {
  return {.mode = PeMode::kMx,
          .dst = Psum(DType::kFp32, 128, {512}),
          .moving = Sbuf(kX4, 128, {512}),
          .scale = Sbuf(DType::kE8M0, 128, {512})};
}
QuantizeMx Quantize() {
  return {.dst = Sbuf(kX4, 64, {16}),
          .dst_scale = Sbuf(DType::kE8M0, 64, {16}),
          .src = Sbuf(DType::kBf16, 64, {64})};
}
Operand Row() {
  return Sbuf(DType::kBf16, 32, {8});
}
Operand Column() {
  return Sbuf(DType::kFp32, 32, {1});
}
Operand Index() {
  return Sbuf(DType::kInt32, 32, {1});
}
DmaCopy Gather() {
  return {.dst = Row(),
          .src = Hbm(DType::kBf16, 32, {8}),
          .gather = VectorOffset{.index = Index(), .rows = 100, .row_stride = 8}};
}

// The refusal's text, or "" when the instruction is accepted.
std::string Refusal(Body body, const Limits& limits = {},
                    std::optional<Engine> given = std::nullopt) {
  const bool on_array =
      std::holds_alternative<LoadStationary>(body) || std::holds_alternative<MultiplyMoving>(body);
  const Engine engine = given.value_or(on_array ? Engine::kTensor : Engine::kVector);
  try {
    Validate({.id = 7, .core = 1, .engine = engine, .body = std::move(body)}, limits);
  } catch (const SimError& error) {
    return error.what();
  }
  return "";
}

// `body` after change(body) is refused with all of `words`.
template <typename Op, typename Change>
void ExpectRefused(Op body, Change change, std::initializer_list<const char*> words,
                   const Limits& limits = {}) {
  ASSERT_EQ(Refusal(body), "");
  change(body);
  const std::string text = Refusal(body, limits);
  EXPECT_THAT(text,
              AllOf(HasSubstr("instruction 7 ("), HasSubstr("on core 1"), Not(HasSubstr("\n"))));
  for (const char* word : words)
    EXPECT_THAT(text, HasSubstr(word));
}

constexpr Limits kGen3{.generation = 3, .sbuf_bytes = 192 * 1024};

TEST(Validate, RejectsBadStationaryOperands) {
  ExpectRefused(Load(), [](auto& i) { i.stationary = Psum(DType::kBf16, 128, {8}); },
                {"SBUF", "psum"});
  ExpectRefused(Load(), [](auto& i) { i.stationary = Sbuf(DType::kBf16, 128, {129}); },
                {"at most 128", "129"});
  ExpectRefused(Load(), [](auto& i) { i.stationary.dtype = DType::kFp32; },
                {"float32 is multiplied in parts", "float32"});
  ExpectRefused(Load(), [](auto& i) { i.part = PePart::kLow; },
                {"float32 is multiplied in parts", "bfloat16"});
  ExpectRefused(LoadMx(), [](auto& i) { i.part = PePart::kLow; }, {"ordinary mode, not of mx"});
  ExpectRefused(Load(), [](auto& i) { i.scale = Sbuf(DType::kE8M0, 128, {128}); }, {"scales"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale.reset(); }, {"scales"});
  ExpectRefused(LoadMx(), [](auto& i) { i.stationary.partitions = 48; },
                {"multiple of 32", "[0:48]"});
  ExpectRefused(LoadMx(),
                [](auto& i) {
                  i.stationary.dims[0].size = 127;
                  i.scale->dims[0].size = 127;
                },
                {"even", "127"});
  ExpectRefused(LoadMx(), [](auto& i) { i.stationary.dtype = DType::kFp32; }, {"x4", "float32"});
  ExpectRefused(
      LoadMx(), [](auto&) {}, {"generation 4", "generation 3"}, kGen3);
}

TEST(Validate, RejectsBadScales) {
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->memory = Memory::kPsum; }, {"SBUF", "psum"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->dtype = DType::kFp8E5M2; },
                {"float8_e8m0fnu or uint8", "float8_e5m2"});
  ExpectRefused(LoadMx(),
                [](auto& i) {
                  i.stationary.dtype = DType::kFp4E2M1FnX4;
                  i.scale->dtype = DType::kFp8E4M3Fn;
                },
                {"scale groups", "mx, not nvfp4", "float8_e4m3fn"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->partition = 2; }, {"0, 4, 8 or 12", "sbuf[2:"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->partition = 16; }, {"0, 4, 8 or 12", "sbuf[16:"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->dims[0].size = 64; }, {"128 elements", ",64]"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->dims[0].stride = 2; }, {"dense", ":2]"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->partitions = 64; }, {"128 partitions", "[0:64]"});
  ExpectRefused(LoadMx(), [](auto& i) { i.scale->partition = 36; }, {"at most at 128"});
  ExpectRefused(Quantize(), [](auto& i) { i.dst_scale.dims[0].size = 17; },
                {"16 elements", ",17]"});
}

TEST(Validate, RejectsBadMultiplies) {
  ExpectRefused(Multiply(), [](auto& i) { i.dst.memory = Memory::kSbuf; }, {"PSUM", "sbuf"});
  ExpectRefused(Multiply(), [](auto& i) { i.moving.memory = Memory::kHbm; }, {"SBUF", "hbm"});
  ExpectRefused(Multiply(), [](auto& i) { i.moving.dims[0].size = 511; }, {"512", "511"});
  ExpectRefused(Multiply(), [](auto& i) { i.dst.dtype = DType::kFp16; },
                {"float32 or bfloat16", "float16"});
  ExpectRefused(
      Multiply(), [](auto& i) { i.dst.dtype = DType::kBf16; }, {"float32", "bfloat16"}, kGen3);
  ExpectRefused(
      Multiply(), [](auto& i) { i.dst.dims[0].size = i.moving.dims[0].size = 513; },
      {"at most 512", "513"}, kGen3);
  ExpectRefused(Multiply(), [](auto& i) { i.dst.dims[0].size = i.moving.dims[0].size = 4097; },
                {"4096", "4097"});
  ExpectRefused(Multiply(), [](auto& i) { i.dst.partition = 32; }, {"partition 0", "psum[32:"});
  ExpectRefused(Multiply(), [](auto& i) { i.dst.dims[0].stride = 2; }, {"dense", ":2]"});
  ExpectRefused(Multiply(), [](auto& i) { i.moving.dtype = DType::kInt32; }, {"fp8", "int32"});
  ExpectRefused(Multiply(), [](auto& i) { i.part = PePart::kHigh; },
                {"float32 is multiplied in parts", "bfloat16"});
  ExpectRefused(Multiply(), [](auto& i) { i.moving.dtype = DType::kFp32; },
                {"float32 is multiplied in parts", "float32"});
  ExpectRefused(Multiply(),
                [](auto& i) {
                  i.mode = PeMode::kTranspose;
                  i.accumulate = true;
                },
                {"transpose never accumulates"});
  ExpectRefused(MultiplyMx(), [](auto& i) { i.moving.dtype = DType::kFp32; }, {"x4", "float32"});
  ExpectRefused(
      MultiplyMx(), [](auto&) {}, {"generation 4", "generation 3"}, kGen3);
}

TEST(Validate, RejectsBadDoubleRows) {
  const LoadStationary load{.mode = PeMode::kDoubleRow,
                            .stationary = Sbuf(DType::kFp8E5M2, 128, {2, 128})};
  ExpectRefused(load, [](auto& i) { i.stationary.dims[1].size = 129; }, {"at most 256", "129"});
  ExpectRefused(load, [](auto& i) { i.stationary.dims[0].size = 1; }, {"outermost free dimension"});
  ExpectRefused(load, [](auto& i) { i.stationary = Sbuf(DType::kFp8E5M2, 128, {2}); },
                {"outermost free dimension", ",2]"});
  ExpectRefused(load, [](auto& i) { i.stationary.dtype = DType::kBf16; }, {"fp8", "bfloat16"});
  ExpectRefused(load, [](auto&) {}, {"double_row needs generation 3", "generation 2"},
                {.generation = 2});
  EXPECT_EQ(Refusal(load, kGen3), "");
  const MultiplyMoving multiply{.mode = PeMode::kDoubleRow,
                                .dst = Psum(DType::kFp32, 128, {512}),
                                .moving = Sbuf(DType::kFp8E4M3, 128, {2, 512})};
  ExpectRefused(multiply, [](auto& i) { i.moving.dims[1].size = 256; },
                {"1024, twice the number", "256"});
  ExpectRefused(multiply, [](auto& i) { i.moving.rank = 1; }, {"1024, twice the number", "2:512"});
  ExpectRefused(multiply, [](auto& i) { i.moving.dtype = DType::kFp16; }, {"fp8", "float16"});
}

TEST(Validate, RejectsBadQuantizes) {
  ExpectRefused(
      Quantize(), [](auto&) {}, {"generation 4", "generation 3"}, kGen3);
  ExpectRefused(Quantize(), [](auto& i) { i.src.memory = Memory::kPsum; }, {"SBUF", "psum"});
  ExpectRefused(Quantize(), [](auto& i) { i.dst.memory = Memory::kPsum; }, {"SBUF", "psum"});
  ExpectRefused(Quantize(), [](auto& i) { i.src.dtype = DType::kFp32; },
                {"bfloat16 or float16", "float32"});
  ExpectRefused(Quantize(), [](auto& i) { i.dst.dtype = DType::kFp4E2M1FnX4; },
                {"float8_e4m3fn_x4 or float8_e5m2_x4", "float4"});
  ExpectRefused(Quantize(), [](auto& i) { i.src.partitions = 40; }, {"multiple of 32", "[0:40]"});
  ExpectRefused(Quantize(), [](auto& i) { i.dst.partitions = 32; }, {"64 partitions", "[0:32]"});
  ExpectRefused(Quantize(), [](auto& i) { i.src.dims[0].size = 60; }, {"4 elements", "60"});
  ExpectRefused(Quantize(), [](auto& i) { i.src.dims[0].stride = 2; }, {"dense", ":2"});
}

TEST(Validate, RejectsPlacesOutsideTheMemories) {
  const TensorCopy copy{.dst = Row(), .src = Row()};
  ExpectRefused(copy, [](auto& i) { i.src.partition = 16; }, {"multiple of 32", "sbuf[16:48]"});
  ExpectRefused(copy, [](auto& i) { i.src.partition = 128; }, {"at most at 128", "sbuf[128:160]"});
  ExpectRefused(copy, [](auto& i) { i.dst.offset = 256 * 1024 - 8; }, {"byte 262144", "0x3fff8"});
  ExpectRefused(copy,
                [](auto& i) {
                  i.dst.memory = Memory::kPsum;
                  i.dst.offset = 16 * 1024 - 8;
                },
                {"byte 16384", "0x3ff8"});
  const TensorCopy wide{.dst = Sbuf(DType::kBf16, 48, {8}), .src = Sbuf(DType::kBf16, 48, {8})};
  ExpectRefused(wide, [](auto& i) { i.src.partition = 32; }, {"0 or 64", "sbuf[32:80]"});
  const TensorCopy widest{.dst = Sbuf(DType::kBf16, 65, {8}), .src = Sbuf(DType::kBf16, 65, {8})};
  ExpectRefused(widest, [](auto& i) { i.src.partition = 32; }, {"must be 0", "sbuf[32:97]"});
  ExpectRefused(copy, [](auto& i) { i.src.dims[0].size = i.dst.dims[0].size = 0; }, {"empty"});
}

TEST(Validate, RejectsElementwiseOperandsThatDoNotFit) {
  const ActivationOp sums{.dst = Row(), .src = Row(), .reduce_res = Column()};
  EXPECT_EQ(Refusal(sums, {}, Engine::kScalar), "");
  EXPECT_THAT(Refusal(sums), HasSubstr("only the scalar engine"));
  ActivationOp wide = sums;
  wide.reduce_res->dims[0].size = 2;
  EXPECT_THAT(Refusal(wide, {}, Engine::kScalar), HasSubstr("one element"));
  wide = sums;
  wide.reduce_res->partitions = 1;
  EXPECT_THAT(Refusal(wide, {}, Engine::kScalar), HasSubstr("32"));
  const TensorTensor add{.dst = Row(), .a = Row(), .b = Row()};
  ExpectRefused(add, [](auto& i) { i.a.dims[0].size = 7; }, {"32 x 8", ",7]"});
  ExpectRefused(add, [](auto& i) { i.b.partitions = 31; }, {"32 x 8", "[0:31]"});
  ExpectRefused(add, [](auto& i) { i.b.memory = Memory::kHbm; }, {"not HBM", "hbm"});
  ExpectRefused(add, [](auto& i) { i.b.dtype = kX4; }, {"x4", "_x4"});
  ExpectRefused(add, [](auto& i) { i.a.memory = i.b.memory = Memory::kPsum; }, {"one input"});
  const TensorScalar scale{.dst = Row(), .src = Row(), .scalar0 = Column()};
  TensorScalar address{.dst = Sbuf(DType::kInt32, 32, {8}), .src = Sbuf(DType::kInt32, 32, {8})};
  ExpectRefused(address, [](auto& i) { i.scalar0 = 1.5f; }, {"constant 1.5", "whole int32"});
  ExpectRefused(scale, [](auto& i) { std::get<Operand>(i.scalar0).partitions = 16; },
                {"32 partitions", "[0:16]"});
  ExpectRefused(scale, [](auto& i) { std::get<Operand>(i.scalar0).dims[0].size = 2; },
                {"one element", ",2]"});
  ExpectRefused(
      ScalarTensorTensor{.dst = Row(), .data = Row(), .scalar = Column(), .tensor = Row()},
      [](auto& i) { std::get<Operand>(i.scalar).memory = Memory::kHbm; }, {"not HBM", "hbm"});
  ExpectRefused(ActivationOp{.dst = Row(), .src = Row(), .bias = Column()},
                [](auto& i) { i.bias->dims[0].size = 8; }, {"one element", ",8]"});
  ExpectRefused(TensorReduce{.dst = Column(), .src = Row()},
                [](auto& i) { i.dst.dims[0].size = 8; }, {"one element", ",8]"});
  ExpectRefused(Iota{.dst = Index()}, [](auto& i) { i.dst.dtype = DType::kFp32; },
                {"int32", "float32"});
  EXPECT_EQ(Refusal(Memset{.dst = Psum(DType::kFp32, 32, {8})}), "");
  EXPECT_THAT(Refusal(Memset{.dst = Psum(DType::kFp32, 32, {8})}, {}, Engine::kGpSimd),
              HasSubstr("GpSimd does not reach PSUM"));
}

TEST(Validate, RejectsBadMax8s) {
  const Max8 max{.dst = Row(), .src = Sbuf(DType::kFp32, 32, {4, 4})};
  ExpectRefused(max, [](auto& i) { i.src.dims[0].size = 1; }, {"8 to 16384", "[32,1,4]"});
  ExpectRefused(max, [](auto& i) { i.src = Sbuf(DType::kBf16, 32, {16385}); },
                {"8 to 16384", "16385"});
  ExpectRefused(max, [](auto& i) { i.dst.dims[0].size = 9; }, {"8 elements", ",9]"});
  ExpectRefused(max, [](auto& i) { i.dst.partitions = 31; }, {"32 partitions", "[0:31]"});
  ExpectRefused(max, [](auto& i) { i.src.memory = Memory::kHbm; }, {"not HBM", "hbm"});
  ExpectRefused(max, [](auto& i) { i.src.dtype = kX4; }, {"x4", "_x4"});
  EXPECT_EQ(Refusal(Max8{.dst = Row(), .src = Sbuf(DType::kBf16, 32, {16384})}), "");
  EXPECT_EQ(Refusal(Max8{.dst = Row(), .src = Row()}), "");
  EXPECT_THAT(Refusal(max, {}, Engine::kGpSimd), HasSubstr("engine gpsimd, allowed vector"));
}

TEST(Validate, RejectsBadDma) {
  const DmaCopy copy{.dst = Row(), .src = Hbm(DType::kBf16, 32, {8})};
  ExpectRefused(copy, [](auto& i) { i.dst.memory = Memory::kPsum; }, {"HBM and SBUF", "psum"});
  ExpectRefused(copy, [](auto& i) { i.dst.dims[0].size = 9; }, {"9 elements per row", ",8]"});
  ExpectRefused(copy, [](auto& i) { i.src.partitions = 2; }, {"32 rows", "[2:8,8]"});
  ExpectRefused(copy, [](auto& i) { i.dst.offset = 256 * 1024; }, {"byte 262144", "0x40000"});
  ExpectRefused(copy, [](auto& i) { i.dst.partition = 100; }, {"at most at 128", "sbuf[100:132]"});
  ExpectRefused(copy, [](auto& i) { i.src.dtype = DType::kFp4E2M1FnX4; }, {"never converted"});
  ExpectRefused(Gather(), [](auto& i) { i.scatter = i.gather; }, {"not both"});
  ExpectRefused(
      Gather(),
      [](auto& i) { i.dst_offset = ScalarOffset{.index = Index(), .limit = 4, .stride = 8}; },
      {"not both"});
  ExpectRefused(Gather(), [](auto& i) { i.src.memory = Memory::kSbuf; }, {"table", "sbuf"});
  ExpectRefused(Gather(), [](auto& i) { i.gather->index.dtype = DType::kFp32; },
                {"int32", "float32"});
  ExpectRefused(Gather(), [](auto& i) { i.gather->index.partitions = 31; }, {"32 rows", "[0:31]"});
  ExpectRefused(
      copy, [](auto& i) { i.src_offset = ScalarOffset{.index = Index(), .limit = 4, .stride = 8}; },
      {"one int32", "[0:32]"});
  const DmaCompute sum{.dst = Row(), .sources = {Row(), Hbm(DType::kFp32, 32, {8})}};
  ExpectRefused(sum, [](auto& i) { i.sources.clear(); }, {"at least one source"});
  ExpectRefused(sum, [](auto& i) { i.sources[1].dims[0].size = 9; }, {"32 x 8", ",9]"});
  ExpectRefused(sum, [](auto& i) { i.dst.memory = Memory::kPsum; }, {"HBM and SBUF", "psum"});
  ExpectRefused(sum, [](auto& i) { i.sources[0].dtype = kX4; }, {"x4"});
}

TEST(Validate, RejectsBadMeetingsAndRegisterLoads) {
  SendRecv swap{.dst = Row(), .src = Row(), .peer = 0};
  swap.src.offset += 64;
  ExpectRefused(swap, [](auto& i) { i.src.offset = i.dst.offset; }, {"must not overlap"});
  ExpectRefused(swap, [](auto& i) { i.src.memory = Memory::kHbm; }, {"SBUF", "hbm"});
  ExpectRefused(swap, [](auto& i) { i.dst.dtype = DType::kFp32; }, {"shape and type"});
  ExpectRefused(swap, [](auto& i) { i.src.dims[0].size = 4; }, {"shape and type", ",4]"});
  ExpectRefused(swap, [](auto& i) { i.peer = 1; }, {"peer 1", "2 cores"});
  ExpectRefused(swap, [](auto& i) { i.peer = 2; }, {"peer 2", "2 cores"});
  ExpectRefused(CoreBarrier{.data = Hbm(DType::kBf16, 1, {8})},
                [](auto& i) { i.data.memory = Memory::kSbuf; }, {"HBM", "sbuf"});
  ExpectRefused(RegisterLoad{.src = Sbuf(DType::kInt32, 1, {1})},
                [](auto& i) { i.src.dims[0].size = 2; }, {"one int32", ",2]"});
}

TEST(Validate, AcceptsWhatKernelsUse) {
  EXPECT_EQ(Refusal(Gather()), "");
  // DMA has no start partition rule, one row broadcasts, fp8 differs by generation.
  DmaCopy copy{.dst = Row(), .src = Hbm(DType::kBf16, 1, {8})};
  copy.dst.partition = 17;
  EXPECT_EQ(Refusal(copy), "");
  LoadStationary load = Load();
  load.stationary.dtype = DType::kFp8E4M3;
  EXPECT_EQ(Refusal(load, kGen3), "");
  load.stationary.dtype = DType::kFp8E4M3Fn;
  EXPECT_EQ(Refusal(load), "");
  EXPECT_THAT(Refusal(load, kGen3), HasSubstr("e4m3fn on generation 4 only"));
}

TEST(Validate, RejectsTheArraysInstructionsElsewhereAndOthersThere) {
  EXPECT_THAT(Refusal(Load(), {}, Engine::kVector), HasSubstr("engine vector, allowed tensor"));
  EXPECT_THAT(Refusal(Multiply(), {}, Engine::kSync), HasSubstr("engine sync, allowed tensor"));
  EXPECT_THAT(Refusal(TensorCopy{.dst = Row(), .src = Row()}, {}, Engine::kTensor),
              HasSubstr("engine tensor, allowed vector, scalar, gpsimd, sync"));
  EXPECT_THAT(Refusal(Gather(), {}, Engine::kTensor), HasSubstr("engine tensor"));
}

TEST(Validate, RejectsOneByteBehindThePartition) {
  Memset fill{.dst = Sbuf(DType::kUint8, 32, {16})};
  const auto bytes = static_cast<std::uint64_t>(Limits{}.sbuf_bytes);
  fill.dst.dtype = DType::kE8M0;  // one byte an element
  fill.dst.offset = bytes - 16;
  EXPECT_EQ(Refusal(fill), "");
  fill.dst.offset = bytes - 15;
  EXPECT_THAT(Refusal(fill), HasSubstr("must end at most at byte"));
}

TEST(Validate, RejectsAPsumTileBetweenTwoElements) {
  MultiplyMoving multiply = Multiply();
  for (const int offset : {1, 2, 3}) {
    multiply.dst.offset = offset;
    EXPECT_THAT(Refusal(multiply), HasSubstr("dst must start at a whole element"));
  }
  multiply.dst.offset = 4;
  multiply.dst.dims[0].size = multiply.moving.dims[0].size = 500;
  EXPECT_EQ(Refusal(multiply), "");
}

TEST(Validate, RejectsArrayOperandsWithoutAFreeDimension) {
  LoadStationary load = Load();
  load.stationary.rank = 0;
  EXPECT_THAT(Refusal(load), HasSubstr("must have a free dimension"));
  MultiplyMoving multiply = Multiply();
  multiply.dst.dims[0].size = 1;
  multiply.moving.rank = 0;
  EXPECT_THAT(Refusal(multiply), HasSubstr("must have a free dimension"));
}

TEST(Validate, RejectsAGatherOfOneRowIntoMany) {
  DmaCopy gather = Gather();
  gather.src.partitions = 1;
  EXPECT_THAT(Refusal(gather), HasSubstr("src must have dst's 32 rows"));
  gather.gather.reset();
  EXPECT_EQ(Refusal(gather), "");
}

TEST(Validate, RejectsAScaleOfMoreQuadrantsThanItsData) {
  QuantizeMx quantize = Quantize();
  quantize.dst_scale.partitions = 96;
  EXPECT_THAT(Refusal(quantize), HasSubstr("a scale must reach over 64 partitions"));
}

}  // namespace
}  // namespace bwmm::isa
