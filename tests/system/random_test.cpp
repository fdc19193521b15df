// Random programs over everything: the machine gives the sequential executor's bits, timing the
// cycles and classes of fast, and nothing depends on the order in which SystemC runs processes.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <variant>

#include "replay/replay_tensor.h"
#include "tests/system/random_check.h"
#include "tests/system/random_coverage.h"
#include "tests/system/random_program.h"

namespace bwmm {
namespace {

using replay::ReplayMode;

constexpr unsigned kSeeds = 200;

std::string PathOf(unsigned seed) {
  return ::testing::TempDir() + fmt::format("random_{}.replay", seed);
}

TEST(RandomPrograms, GiveOneAnswerInEveryWay) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::vector<test::Way> ways = {
        {ReplayMode::kFast}, {ReplayMode::kExecutor}, {ReplayMode::kTiming}};
    if (seed % 4 == 0)
      ways.push_back({ReplayMode::kFast, test::InReverse()});
    ASSERT_EQ(test::CheckProgram(test::MakeRandomProgram(seed), ways, PathOf(seed)), "")
        << "seed " << seed;
  }
}

TEST(RandomPrograms, GiveOneAnswerOnAnyNumberOfCores) {
  constexpr unsigned kSeedsOfCores = 6;
  for (const int cores : {1, 3, 4, 8}) {
    for (unsigned seed = 1; seed <= (cores == 8 ? 1 : kSeedsOfCores); ++seed) {
      const std::vector<test::Way> ways = {{ReplayMode::kFast},
                                           {ReplayMode::kExecutor},
                                           {ReplayMode::kTiming},
                                           {ReplayMode::kFast, test::InReverse()}};
      const replay::ReplayProgram program = test::MakeRandomProgram(seed, cores);
      ASSERT_EQ(program.cores.size(), static_cast<std::size_t>(cores));
      ASSERT_EQ(test::CheckProgram(program, ways, PathOf(seed)), "")
          << "seed " << seed << " on " << cores << " cores";
    }
  }
}

// Every list is written out, so that a generator that stops making something is noticed.
std::vector<std::string> ExpectedFacts() {
  std::vector<std::string> facts;
  const auto all = [&](std::string_view before, const std::vector<std::string>& ends) {
    for (const std::string& end : ends)
      facts.push_back(fmt::format("{} {}", before, end));
  };
  const std::vector<std::string> elements = {"float32",        "bfloat16",    "float16",
                                             "float8_e4m3fn",  "float8_e4m3", "float8_e5m2",
                                             "float8_e8m0fnu", "int32",       "uint8"};
  const std::vector<std::string> bytes = {
      "float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4", "int16", "uint16", "uint32"};
  const std::vector<std::string> x4 = {bytes[0], bytes[1], bytes[2]};
  const std::vector<std::string> pe = {"float16", "bfloat16", "float8_e4m3fn", "float8_e4m3",
                                       "float8_e5m2"};
  const std::vector<std::string> alu = {"add", "subtract", "multiply", "max", "min", "is_equal"};

  for (const char* opcode :
       {"tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "tensor_reduce", "max8",
        "tensor_copy", "activation", "dma_copy", "dma_compute"}) {
    all(fmt::format("{} dst", opcode), elements);
    all(fmt::format("{} src", opcode), elements);
    const bool dma = std::string_view(opcode).starts_with("dma");
    all(fmt::format("{} dst in", opcode), {"sbuf", dma ? "hbm" : "psum"});
    all(fmt::format("{} src in", opcode), {"sbuf", dma ? "hbm" : "psum"});
  }
  all("memset dst", elements);
  all("memset", {"NaN", "Inf", "a number", "on vector", "on gpsimd"});
  for (const char* opcode :
       {"tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "tensor_reduce"}) {
    all(opcode, alu);
    all(opcode, {"of integers", "on vector", "on gpsimd"});
  }
  all("tensor_tensor on", {"scalar"});
  all("tensor_scalar", {"on scalar", "one operation", "two operations"});
  for (const char* opcode : {"tensor_scalar", "scalar_tensor_tensor"})
    all(opcode, {"scalar constant", "scalar per partition", "scalar for all partitions"});
  all("tensor_copy", {"on vector", "on scalar", "on gpsimd", "of bits", "converting"});
  all("activation",
      {"identity", "silu", "swish", "gelu", "gelu_tanh", "relu_squared", "sigmoid", "exp", "scaled",
       "with sums", "scalar per partition", "scalar for all partitions"});
  all("iota on", {"gpsimd"});
  all("max8", {"on vector", "of integers"});

  all("load_stationary ordinary", pe);
  all("multiply_moving ordinary", pe);
  all("load_stationary ordinary", {"float32"});
  all("multiply_moving ordinary", {"float32"});
  for (const char* opcode : {"load_stationary", "multiply_moving"})
    all(fmt::format("{} part", opcode), {"high", "low"});
  all("load_stationary mx", x4);
  all("multiply_moving mx", x4);
  all("load_stationary transpose", elements);
  all("load_stationary transpose", bytes);
  for (const char* opcode : {"load_stationary", "multiply_moving"})
    all(fmt::format("{} double_row", opcode), {"float8_e4m3fn", "float8_e4m3", "float8_e5m2"});
  for (const char* mode : {"ordinary", "mx", "double_row"})
    all(fmt::format("multiply_moving {} into", mode),
        {"float32", "bfloat16", "float32 accumulating", "bfloat16 accumulating"});
  all("multiply_moving transpose into", {"float32", "bfloat16", "uint16", "int32"});
  all("multiply_moving", {"one row", "short", "up to a bank", "beyond a bank"});
  all("multiply_moving scale", {"float8_e8m0fnu", "uint8"});
  all("load_stationary scale", {"float8_e8m0fnu", "uint8"});
  all("quantize_mx src", {"bfloat16", "float16"});
  all("quantize_mx dst", {x4[0], x4[1]});
  all("quantize_mx", {"x2", "ocp"});

  all("dma_copy dst", bytes);
  all("dma_copy", {"hbm to sbuf", "sbuf to hbm", "hbm to hbm", "sbuf to sbuf", "of bits",
                   "converting", "broadcast", "on sync", "on gpsimd"});
  for (const char* part : {"gather", "scatter", "src_offset", "dst_offset"})
    all(fmt::format("dma_copy {}", part), {"skip", "error"});
  all("dma_copy", {"gather with src_offset", "scatter with dst_offset"});
  all("dma_compute of", {"1", "2", "3", "4"});
  all("sendrecv pipe", {"0", "1", "2", "3"});
  all("sendrecv src", elements);
  all("sendrecv src", bytes);
  all("core_barrier on", {"gpsimd"});
  all("register_load src in", {"hbm", "sbuf"});
  all("under", {"a register"});

  for (const char* role : {"src", "dst"}) {
    all(fmt::format("{} rank", role), {"0", "1", "2", "3", "4"});
    all(role, {"strided", "permuted", "at another partition"});
  }
  all("src", {"repeated"});
  all("scale", {"at another partition", "strided"});
  return facts;
}

TEST(RandomPrograms, HoldEveryInstructionModeTypeAndForm) {
  test::Coverage coverage;
  for (unsigned seed = 1; seed <= kSeeds; ++seed)
    coverage.Add(test::MakeRandomProgram(seed));
  for (const std::string& fact : ExpectedFacts())
    EXPECT_GT(coverage.Of(fact), 0) << fact;
}

// The generator takes its instructions from no list of the model, so that one left out shows here.
TEST(RandomPrograms, HoldEveryInstructionThereIs) {
  std::set<std::size_t> kinds;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    for (const auto& steps : test::MakeRandomProgram(seed).cores) {
      for (const replay::ReplayStep& step : steps)
        kinds.insert(step.instruction.body.index());
    }
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<isa::Body>);
}

bool Holds(DType type, std::uint32_t code) {
  const auto data = replay::Filled(type, std::size_t{1} << 16, 1, true);
  for (std::size_t i = 0; i < data.size(); i += SizeOf(type)) {
    std::uint32_t found = 0;
    std::memcpy(&found, &data[i], SizeOf(type));
    if (found == code)
      return true;
  }
  return false;
}

TEST(RandomPrograms, TensorsHoldTheEdgesOfTheirTypes) {
  const std::pair<DType, std::vector<std::uint32_t>> kEdges[] = {
      {DType::kFp32, {0x80000000, 1, 0x7fffff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001}},
      {DType::kBf16, {0x8000, 1, 0x7f, 0x7f7f, 0x7f80, 0xff80, 0x7f81, 0xffff}},
      {DType::kFp16, {0x8000, 1, 0x3ff, 0x7bff, 0x7c00, 0xfc00, 0x7c01}},
      {DType::kFp8E4M3Fn, {0x80, 1, 7, 0x7e, 0x7f, 0xff}},
      {DType::kFp8E4M3, {0x80, 1, 7, 0x77, 0x78, 0xf8, 0x79}},
      {DType::kFp8E5M2, {0x80, 1, 3, 0x7b, 0x7c, 0xfc, 0x7d}},
      {DType::kE8M0, {0, 1, 0xfe, 0xff}},
      {DType::kInt32, {0x80000000, 0x7fffffff, 0xffffffff}}};
  for (const auto& [type, codes] : kEdges) {
    for (const std::uint32_t code : codes)
      EXPECT_TRUE(Holds(type, code)) << NameOf(type) << fmt::format(" {:#x}", code);
  }
}

}  // namespace
}  // namespace bwmm
