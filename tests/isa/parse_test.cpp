// Text and back: every field of every instruction survives, and a wrong line is refused where it is
// wrong.
#include "model/isa/parse.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/isa/text.h"
#include "model/support/sim_error.h"
#include "tests/isa/instruction_parts.h"
#include "tests/isa/random_instruction.h"

namespace bwmm::isa {
namespace {

using test::InstructionParts;
using test::RandomInstruction;
using ::testing::HasSubstr;

constexpr unsigned kSeed = 6;

TEST(Parse, GivesBackEveryInstruction) {
  std::mt19937 random(kSeed);
  RandomInstruction any(random);
  std::set<std::size_t> bodies;
  for (int n = 0; n < 20000; ++n) {
    const Instruction instruction = any.Next();
    const std::string text = ToText(instruction);
    bodies.insert(instruction.body.index());
    ASSERT_EQ(InstructionParts::Of(ParseInstruction(text)), InstructionParts::Of(instruction))
        << text << "\nseed " << kSeed << " case " << n;
  }
  EXPECT_EQ(bodies.size(), std::variant_size_v<Body>);
}

TEST(Parse, TwoInstructionsThatDifferHaveDifferentTexts) {
  std::mt19937 random(kSeed);
  RandomInstruction any(random);
  std::map<std::string, std::vector<std::int64_t>> seen;
  for (int n = 0; n < 20000; ++n) {
    // Small operands, so that texts could meet.
    const Operand operand = any.Operand();
    const Instruction instruction{.body = RegisterLoad{.src = operand}};
    const auto [entry, added] = seen.emplace(ToText(operand), InstructionParts::Of(instruction));
    EXPECT_EQ(entry->second, InstructionParts::Of(instruction)) << entry->first;
  }
}

TEST(Parse, ReadsALineWrittenByHand) {
  const Instruction i = ParseInstruction(
      "42 core1 vector tensor_scalar dst=sbuf[32:64]+0x10 bfloat16[32,2:100,8] "
      "src=psum[0:32]+0x800 float32[32,16] op0=add scalar0=-inf op1=max "
      "scalar1=sbuf[0:1]+0x0 float32[1]");
  EXPECT_EQ(i.id, 42U);
  EXPECT_EQ(i.core, 1);
  EXPECT_EQ(i.engine, Engine::kVector);
  const auto& scalar = std::get<TensorScalar>(i.body);
  EXPECT_EQ(scalar.dst.partition, 32);
  EXPECT_EQ(scalar.dst.partitions, 32);
  EXPECT_EQ(scalar.dst.offset, 16U);
  ASSERT_EQ(scalar.dst.rank, 2);
  EXPECT_EQ(scalar.dst.dims[0], (Dim{.size = 2, .stride = 100}));
  EXPECT_EQ(scalar.dst.dims[1], (Dim{.size = 8, .stride = 1}));
  EXPECT_EQ(scalar.src.memory, Memory::kPsum);
  EXPECT_EQ(std::get<float>(scalar.scalar0), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(scalar.op1, AluOp::kMax);
  EXPECT_EQ(std::get<Operand>(scalar.scalar1).rank, 0);
}

struct Refusal {
  const char* line;
  const char* text;
};

TEST(Parse, RejectsAWrongLineWhereItIsWrong) {
  const Refusal kRefusals[] = {
      {"x", "column 1: x, allowed 0 to 4294967295"},
      {"", "column 1: end of line"},
      {"1 kore0", "column 3: kore0, allowed \"core\""},
      {"1 core0 vektor", "column 9: vektor, allowed tensor, vector, scalar, gpsimd, sync"},
      {"1 core0 vector tensor_kopy dst=", "tensor_kopy, allowed load_stationary, multiply_moving"},
      {"1 core0 vector memset value=3", "column 23: value=3, allowed \"dst\""},
      {"1 core0 vector memset dst=sbug[0:1]", "column 27: sbug[0:1], allowed hbm, sbuf, psum"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float33[1]", "float33[1], allowed float32, bf"},
      {"1 core0 vector memset dst=sbuf[0:2]+0x0 float32[1]", "1], allowed 2, the partitions"},
      {"1 core0 vector memset dst=sbuf[0:2]+0x0 float32[2:4,1]", "partitions without a stride"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1,1,1,1,1,1]", "at most 4 free dimensions"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1,1099511627776,9]", "at most 2^40"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1,-1]", "-1], allowed 0 to 10995116"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1]", "end of line, allowed \"value\""},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1] value=1e99", "1e99, allowed a number"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1] value=nan:0x7", "the bits of a NaN"},
      {"1 core0 vector memset dst=sbuf[0:1]+0x0 float32[1] value=1 x", "x, allowed the end of"},
      {"1 core0 sync register_load src=hbm+0x40 int32[2,1]", "rows:stride where there are"},
  };
  for (const Refusal& refusal : kRefusals) {
    try {
      ParseInstruction(refusal.line);
      ADD_FAILURE() << "accepted: " << refusal.line;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), HasSubstr(refusal.text)) << refusal.line;
    }
  }
}

TEST(Parse, RejectsDamagedLinesInOrder) {
  std::mt19937 random(kSeed);
  RandomInstruction any(random);
  constexpr std::string_view kBytes = "0123456789abcxsp[]:,+-=. \t\n\x80_";
  int refused = 0, accepted = 0;
  for (int n = 0; n < 20000; ++n) {
    std::string text = ToText(any.Next());
    if (n % 4 == 0)
      text.resize(random() % (text.size() + 1));
    for (int damage = n % 4; damage > 0 && !text.empty(); --damage)
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    try {
      // What is still a line means what it says.
      const Instruction instruction = ParseInstruction(text);
      EXPECT_EQ(InstructionParts::Of(ParseInstruction(ToText(instruction))),
                InstructionParts::Of(instruction));
      ++accepted;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), HasSubstr("allowed"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace bwmm::isa
