// The text form: one line per instruction, with everything that tells two instructions apart.
#include "model/isa/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa/address_oracle.h"

namespace bwmm::isa {
namespace {

using test::Dense;
using ::testing::HasSubstr;
using ::testing::Not;

const Operand kTile = Dense(Memory::kSbuf, DType::kBf16, 128, {2, 512}, 0x400);
const Operand kIndex = Dense(Memory::kSbuf, DType::kInt32, 128, {1}, 0x20);

TEST(Text, ADenseOperandShowsPlaceTypeAndShape) {
  EXPECT_EQ(ToText(kTile), "sbuf[0:128]+0x400 bfloat16[128,2,512]");
  EXPECT_EQ(ToText(Dense(Memory::kPsum, DType::kFp32, 64, {16})), "psum[0:64]+0x0 float32[64,16]");
  EXPECT_EQ(ToText(Dense(Memory::kHbm, DType::kInt32, 1, {16}, 0x40)), "hbm+0x40 int32[1,16]");
}

TEST(Text, StridesShowWhereTheyAreNotDense) {
  Operand operand = kTile;
  operand.dims[0].stride = 1024;
  EXPECT_EQ(ToText(operand), "sbuf[0:128]+0x400 bfloat16[128,2:1024,512]");
  operand.dims[1].stride = 0;
  EXPECT_THAT(ToText(operand), HasSubstr(",512:0]"));
  EXPECT_EQ(ToText(Dense(Memory::kHbm, DType::kBf16, 3, {16}, 0)), "hbm+0x0 bfloat16[3:16,16]");
}

TEST(Text, AMatmulReadsAsOneLine) {
  const Instruction instruction{
      .id = 42,
      .core = 1,
      .engine = Engine::kTensor,
      .body = MultiplyMoving{.dst = Dense(Memory::kPsum, DType::kFp32, 128, {512}),
                             .moving = Dense(Memory::kSbuf, DType::kBf16, 128, {512}),
                             .accumulate = true}};
  EXPECT_EQ(ToText(instruction),
            "    42 core1 tensor multiply_moving      mode=ordinary "
            "dst=psum[0:128]+0x0 float32[128,512] moving=sbuf[0:128]+0x0 bfloat16[128,512] "
            "accumulate=true");
}

std::vector<Body> OneOfEach() {
  return {LoadStationary{.stationary = kTile},
          MultiplyMoving{.dst = kTile, .moving = kTile},
          QuantizeMx{.dst = kTile, .dst_scale = kTile, .src = kTile},
          ActivationOp{.dst = kTile, .src = kTile},
          TensorTensor{.dst = kTile, .a = kTile, .b = kTile},
          TensorScalar{.dst = kTile, .src = kTile},
          ScalarTensorTensor{.dst = kTile, .data = kTile, .tensor = kTile},
          TensorReduce{.dst = kTile, .src = kTile},
          TensorCopy{.dst = kTile, .src = kTile},
          Memset{.dst = kTile},
          Iota{.dst = kTile},
          Max8{.dst = kTile, .src = kTile},
          DmaCopy{.dst = kTile, .src = kTile},
          DmaCompute{.dst = kTile, .sources = {kTile}},
          SendRecv{.dst = kTile, .src = kTile},
          CoreBarrier{.data = kTile},
          RegisterLoad{.src = kTile}};
}

TEST(Text, EveryInstructionIsOneLineWithIdCoreEngineAndOpcode) {
  const std::vector<Body> bodies = OneOfEach();
  ASSERT_EQ(bodies.size(), std::variant_size_v<Body>);
  std::set<std::string_view> opcodes;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    ASSERT_EQ(bodies[i].index(), i);
    const Instruction instruction{
        .id = 123, .core = 1, .engine = Engine::kGpSimd, .body = bodies[i]};
    const std::string text = ToText(instruction);
    EXPECT_THAT(text, HasSubstr(fmt::format("123 core1 gpsimd {}", OpcodeOf(instruction))));
    EXPECT_THAT(text, HasSubstr("sbuf[0:128]+0x400 bfloat16[128,2,512]"));
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    opcodes.insert(OpcodeOf(instruction));
  }
  EXPECT_EQ(opcodes.size(), bodies.size());
}

TEST(Text, OptionalPartsShowOnlyWhenTheyAreThere) {
  const auto text = [](Body body) { return ToText(Instruction{.body = std::move(body)}); };
  DmaCopy copy{.dst = kTile, .src = kTile};
  EXPECT_THAT(text(copy), Not(HasSubstr("gather")));
  copy.gather =
      VectorOffset{.index = kIndex, .rows = 100, .row_stride = 512, .oob = OutOfBounds::kSkip};
  copy.dst_offset = ScalarOffset{.index = kIndex, .limit = 9, .stride = 77};
  EXPECT_THAT(text(copy), HasSubstr("gather=[sbuf[0:128]+0x20 int32[128,1] rows=100 stride=512 "
                                    "oob=skip]"));
  EXPECT_THAT(text(copy), HasSubstr("dst_offset=[sbuf[0:128]+0x20 int32[128,1] limit=9 "
                                    "stride=77 oob=error]"));
  DmaCopy scattered{
      .dst = kTile, .src = kTile, .scatter = copy.gather, .src_offset = copy.dst_offset};
  EXPECT_THAT(text(scattered), HasSubstr(" scatter=[sbuf"));
  EXPECT_THAT(text(scattered), HasSubstr(" src_offset=[sbuf"));
  EXPECT_THAT(text(scattered), Not(HasSubstr("gather")));
  EXPECT_THAT(text(LoadStationary{.stationary = kTile}), Not(HasSubstr("part")));
  EXPECT_THAT(text(LoadStationary{.stationary = kTile, .part = PePart::kLow}),
              HasSubstr("mode=ordinary part=low stationary="));
  EXPECT_THAT(text(MultiplyMoving{.dst = kTile, .moving = kTile, .part = PePart::kHigh}),
              HasSubstr("mode=ordinary part=high dst="));
  TensorScalar scale{.dst = kTile, .src = kTile, .scalar0 = 0.1f};
  EXPECT_THAT(text(scale), HasSubstr("op0=multiply scalar0=0.100000001"));
  EXPECT_THAT(text(scale), Not(HasSubstr("op1")));
  scale.op1 = AluOp::kMax;
  scale.scalar1 = kIndex;
  EXPECT_THAT(text(scale), HasSubstr("op1=max scalar1=sbuf[0:128]+0x20 int32[128,1]"));
}

}  // namespace
}  // namespace bwmm::isa
