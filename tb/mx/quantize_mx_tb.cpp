// The Verilated quantize_mx against its C++ twin on groups of every kind, and against the edge
// cases written down in docs/numerics.md.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "model/engine/make_engines.h"
#include "tb/common/stimulus.h"

namespace bwmm::engine {
namespace {

// One value in all places of every group of a 32-row, one-column job.
QuantizeMxJob ConstantJob(DType source, DType target, ScaleRule rule, std::uint16_t code) {
  return {.source = source,
          .target = target,
          .rule = rule,
          .rows = 32,
          .columns = 1,
          .data = std::vector<std::uint16_t>(128, code)};
}

// Elements around one exponent per job, so that scales and roundings vary; rare specials.
std::uint16_t Element(tb::Stimulus& stimulus, DType source, int exponent, bool special) {
  const int mantissa_bits = source == DType::kBf16 ? 7 : 10;
  const int top = source == DType::kBf16 ? 255 : 31;
  int field = std::max(0, exponent - stimulus.Between(0, stimulus.OneIn(3) ? 20 : 4));
  if (special && stimulus.OneIn(40))
    field = top;
  std::uint32_t bits = static_cast<std::uint32_t>(field) << mantissa_bits;
  if (!stimulus.OneIn(5))
    bits |= stimulus.Bits() & ((1U << mantissa_bits) - 1);
  if (stimulus.OneIn(30))
    bits = 0;
  return static_cast<std::uint16_t>(bits | (stimulus.Bits() & 0x8000));
}

QuantizeMxJob RandomJob(tb::Stimulus& stimulus) {
  QuantizeMxJob job;
  job.source = stimulus.OneIn(2) ? DType::kBf16 : DType::kFp16;
  job.target = stimulus.OneIn(2) ? DType::kFp8E4M3FnX4 : DType::kFp8E5M2X4;
  job.rule = stimulus.OneIn(2) ? ScaleRule::kX2 : ScaleRule::kOcp;
  job.rows = 32 * stimulus.Between(1, 4);
  job.columns = stimulus.Between(1, 12);
  job.data.resize(std::size_t{4} * job.rows * job.columns);
  const int top = job.source == DType::kBf16 ? 254 : 30;
  const int exponent = stimulus.OneIn(3) ? stimulus.Between(0, 20) : stimulus.Between(0, top);
  const bool special = stimulus.OneIn(4);
  for (std::uint16_t& element : job.data)
    element = Element(stimulus, job.source, std::min(exponent, top), special);
  return job;
}

TEST(QuantizeMx, TwinsAgreeInBitsAndCycles) {
  const auto rtl = MakeRtlQuantizeMx();
  const auto fast = MakeFastQuantizeMx();
  for (int seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tb::Stimulus stimulus(seed);
    const QuantizeMxJob job = RandomJob(stimulus);
    const QuantizeMxResult expected = fast->Run(job);
    const QuantizeMxResult result = rtl->Run(job);
    ASSERT_EQ(result.cycles, expected.cycles);
    ASSERT_EQ(result.scales, expected.scales);
    ASSERT_EQ(result.words, expected.words);
  }
}

TEST(QuantizeMx, EveryConstantGroupAgrees) {
  const auto rtl = MakeRtlQuantizeMx();
  const auto fast = MakeFastQuantizeMx();
  for (const DType source : {DType::kBf16, DType::kFp16}) {
    for (const DType target : {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4}) {
      for (const ScaleRule rule : {ScaleRule::kX2, ScaleRule::kOcp}) {
        // A column has four groups of 8 rows; each group holds one code.
        QuantizeMxJob job = {.source = source,
                             .target = target,
                             .rule = rule,
                             .rows = 32,
                             .columns = 65536 / 4,
                             .data = {}};
        job.data.resize(std::size_t{4} * job.rows * job.columns);
        for (int row = 0; row < job.rows; ++row) {
          for (int i = 0; i < 4 * job.columns; ++i)
            job.data[std::size_t{4} * row * job.columns + i] =
                static_cast<std::uint16_t>(4 * (i / 4) + row / 8);
        }
        const QuantizeMxResult expected = fast->Run(job);
        const QuantizeMxResult result = rtl->Run(job);
        ASSERT_EQ(result.scales, expected.scales);
        ASSERT_EQ(result.words, expected.words);
      }
    }
  }
}

TEST(QuantizeMx, EdgeCasesAreTheDocumentedOnes) {
  struct Edge {
    DType target;
    ScaleRule rule;
    std::uint16_t bf16;
    std::uint8_t scale;
    std::uint32_t word;
  };
  constexpr DType kE4M3 = DType::kFp8E4M3FnX4;
  constexpr DType kE5M2 = DType::kFp8E5M2X4;
  constexpr Edge kEdges[] = {
      {kE4M3, ScaleRule::kX2, 0x0000, 0x00, 0x00000000},  // zeros
      {kE4M3, ScaleRule::kX2, 0x8000, 0x00, 0x80808080},  // the sign of zero stays
      {kE4M3, ScaleRule::kX2, 0x7f7f, 0xf7, 0x78787878},  // largest bf16
      {kE5M2, ScaleRule::kX2, 0x7f7f, 0xf0, 0x78787878},
      {kE4M3, ScaleRule::kOcp, 0x7f7f, 0xf6, 0x7e7e7e7e},  // saturates
      {kE4M3, ScaleRule::kX2, 0x0180, 0x00, 0x50505050},   // 2^-124, scale clamped low
      {kE4M3, ScaleRule::kX2, 0x0001, 0x00, 0x08080808},   // 2^-133, smallest bf16
      {kE4M3, ScaleRule::kX2, 0x7f80, 0xff, 0x7f7f7f7f},   // Inf
      {kE5M2, ScaleRule::kX2, 0xff80, 0xff, 0x7f7f7f7f},
      {kE5M2, ScaleRule::kOcp, 0x7fc1, 0xff, 0x7f7f7f7f},  // NaN
  };
  const auto rtl = MakeRtlQuantizeMx();
  for (const Edge& edge : kEdges) {
    const QuantizeMxResult result =
        rtl->Run(ConstantJob(DType::kBf16, edge.target, edge.rule, edge.bf16));
    EXPECT_EQ(result.scales.front(), edge.scale) << std::hex << edge.bf16;
    EXPECT_EQ(result.words.front(), edge.word) << std::hex << edge.bf16;
  }
}

TEST(QuantizeMx, OneNanElementSpoilsItsGroupOnly) {
  const auto rtl = MakeRtlQuantizeMx();
  QuantizeMxJob job = ConstantJob(DType::kBf16, DType::kFp8E4M3FnX4, ScaleRule::kX2, 0x3f80);
  job.data[4 * 13 + 2] = 0x7fc0;
  const QuantizeMxResult result = rtl->Run(job);
  EXPECT_EQ(result.scales, (std::vector<std::uint8_t>{0x78, 0xff, 0x78, 0x78}));
  EXPECT_EQ(result.words[7], 0x70707070U);
  EXPECT_EQ(result.words[8], 0x7f7f7f7fU);
}

TEST(QuantizeMx, TakesOneColumnPerCycle) {
  const auto rtl = MakeRtlQuantizeMx();
  QuantizeMxJob job;
  job.rows = 128;
  job.columns = 100;
  job.data.resize(std::size_t{4} * job.rows * job.columns);
  EXPECT_EQ(rtl->Run(job).cycles, 100 - 1 + 3U);
}

}  // namespace
}  // namespace bwmm::engine
