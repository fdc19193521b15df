// quantize_mx against an implementation in doubles, over both sources, targets and scale rules.
#include "model/ops/quantize_mx.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <random>

#include "model/support/check.h"
#include "tests/ops/quantize_mx_oracle.h"

namespace bwmm {
namespace {

using Group = std::vector<std::uint16_t>;

constexpr int kGroup = 32;
constexpr std::uint32_t kSeed = 20260101;

struct Mode {
  DType source;
  DType target;
  ScaleRule rule;

  test::QuantizeMxOracle oracle() const {
    return {source == DType::kBf16 ? test::Bf16Oracle() : test::Fp16Oracle(),
            target == DType::kFp8E4M3FnX4 ? test::E4M3FnOracle() : test::E5M2Oracle(),
            rule == ScaleRule::kX2};
  }
};

std::vector<Mode> AllModes() {
  std::vector<Mode> modes;
  for (const DType source : {DType::kBf16, DType::kFp16}) {
    for (const DType target : {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4}) {
      for (const ScaleRule rule : {ScaleRule::kX2, ScaleRule::kOcp})
        modes.push_back({source, target, rule});
    }
  }
  return modes;
}

struct Quantized {
  int scale;
  std::vector<std::uint8_t> codes;  // element (row, lane) at 4 * row + lane
};

Quantized QuantizeGroup(const Mode& mode, const Group& group) {
  std::array<std::uint32_t, 8> words;
  std::uint8_t scale = 0;
  ops::QuantizeMx(mode.source, mode.target, mode.rule, group.data(), 8, 1, words.data(), &scale);
  Quantized result{scale, {}};
  for (const std::uint32_t word : words) {
    for (int lane = 0; lane < 4; ++lane)
      result.codes.push_back(static_cast<std::uint8_t>(word >> (8 * lane)));
  }
  return result;
}

void ExpectOracle(const Mode& mode, const Group& group) {
  std::vector<std::uint8_t> codes;
  const int scale = mode.oracle().Group(group, codes);
  const Quantized got = QuantizeGroup(mode, group);
  ASSERT_EQ(got.scale, scale) << NameOf(mode.source) << " to " << NameOf(mode.target)
                              << ", first element " << group[0] << ", seed " << kSeed;
  for (int i = 0; i < kGroup; ++i) {
    ASSERT_EQ(got.codes[i], codes[i])
        << NameOf(mode.source) << " to " << NameOf(mode.target) << ", element " << i << " of "
        << kGroup << " is " << mode.oracle().source.Value(group[i]) << ", scale code " << scale
        << ", seed " << kSeed;
  }
}

Group Filled(std::uint16_t code) {
  return Group(kGroup, code);
}

TEST(QuantizeMx, EveryCodeAsTheLargestOfItsGroup) {
  for (const Mode& mode : AllModes()) {
    for (int code = 0; code < 0x10000; ++code) {
      // Smaller companions: the same exponent and below, with both signs.
      Group group = Filled(static_cast<std::uint16_t>(code));
      for (int i = 1; i < kGroup; ++i) {
        const int magnitude = std::max(0, (code & 0x7fff) - i * i * 9);
        group[i] = static_cast<std::uint16_t>(magnitude | (i % 2) << 15);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectOracle(mode, group));
    }
  }
}

TEST(QuantizeMx, EveryCodeBesideEveryScale) {
  // One element fixes the scale, the others walk through all codes below it in steps.
  for (const Mode& mode : AllModes()) {
    const int mantissa_bits = mode.oracle().source.format.mantissa_bits;
    const int inf = mode.oracle().source.format.inf_code;
    for (int largest = 1 << mantissa_bits; largest < inf; largest += 1 << mantissa_bits) {
      for (int below = 0; below < largest; below += 31 * 7) {
        Group group = Filled(static_cast<std::uint16_t>(largest));
        for (int i = 1; i < kGroup; ++i)
          group[i] = static_cast<std::uint16_t>(std::max(0, largest - below - 7 * i));
        ASSERT_NO_FATAL_FAILURE(ExpectOracle(mode, group));
      }
    }
  }
}

TEST(QuantizeMx, RandomGroups) {
  std::mt19937 random(kSeed);
  for (const Mode& mode : AllModes()) {
    for (int trial = 0; trial < 20'000; ++trial) {
      Group group(kGroup);
      // Anything at all, values within a few binades, or sparse.
      const int base = static_cast<int>(random() & 0x7fff);
      for (std::uint16_t& code : group) {
        const std::uint32_t word = random();
        if (trial % 4 == 0)
          code = static_cast<std::uint16_t>(word);
        else if (trial % 4 == 1 && word % 8 != 0)
          code = static_cast<std::uint16_t>(word & 0x8000);
        else
          code = static_cast<std::uint16_t>(((base + word % 1500) & 0x7fff) | (word >> 31 << 15));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectOracle(mode, group));
    }
  }
}

TEST(QuantizeMx, GroupsOfAMatrixAreQuantizedOnTheirOwn) {
  std::mt19937 random(kSeed);
  const Mode mode{DType::kBf16, DType::kFp8E4M3FnX4, ScaleRule::kX2};
  // Widths around the vector and chunk lengths of the implementation.
  for (const int columns : {1, 3, 127, 128, 129, 300}) {
    constexpr int kRows = 32;
    std::vector<std::uint16_t> data(kRows * 4 * columns);
    for (std::uint16_t& code : data)
      code = static_cast<std::uint16_t>(random());
    std::vector<std::uint32_t> words(kRows * columns);
    std::vector<std::uint8_t> scales(kRows / 8 * columns);
    ops::QuantizeMx(mode.source, mode.target, mode.rule, data.data(), kRows, columns, words.data(),
                    scales.data());
    for (int strip = 0; strip < kRows / 8; ++strip) {
      for (int column = 0; column < columns; ++column) {
        Group group;
        std::vector<std::uint8_t> got;
        for (int row = 8 * strip; row < 8 * strip + 8; ++row) {
          for (int lane = 0; lane < 4; ++lane) {
            group.push_back(data[row * 4 * columns + 4 * column + lane]);
            got.push_back(static_cast<std::uint8_t>(words[row * columns + column] >> (8 * lane)));
          }
        }
        std::vector<std::uint8_t> codes;
        ASSERT_EQ(scales[strip * columns + column], mode.oracle().Group(group, codes));
        ASSERT_EQ(got, codes) << columns << " columns, strip " << strip << ", column " << column;
      }
    }
  }
}

// The edge cases, written down by hand for bf16.
TEST(QuantizeMx, ZeroGroupKeepsItsSigns) {
  for (const Mode& mode : AllModes()) {
    Group group = Filled(0x0000);
    group[5] = 0x8000;
    const Quantized got = QuantizeGroup(mode, group);
    EXPECT_EQ(got.scale, 0x00);
    for (int i = 0; i < kGroup; ++i)
      EXPECT_EQ(got.codes[i], i == 5 ? 0x80 : 0x00);
  }
}

TEST(QuantizeMx, NanOrInfAnywhereMakesTheGroupNan) {
  for (const Mode& mode : AllModes()) {
    const int inf = mode.oracle().source.format.inf_code;
    for (const int special : {inf, inf | 0x8000, inf + 1, 0x7fff, 0xffff}) {
      for (int place = 0; place < kGroup; ++place) {
        Group group = Filled(0x3c00);
        group[place] = static_cast<std::uint16_t>(special);
        const Quantized got = QuantizeGroup(mode, group);
        EXPECT_EQ(got.scale, 0xff);
        EXPECT_EQ(got.codes, std::vector<std::uint8_t>(kGroup, 0x7f));
      }
    }
  }
}

struct Edge {
  const char* name;
  std::uint16_t element;
  int scale_e4m3;
  int code_e4m3;
  int scale_e5m2;
  int code_e5m2;
};

TEST(QuantizeMx, EdgesOfTheX2Rule) {
  for (const Edge& edge : {Edge{"1.0", 0x3f80, 0x78, 0x70, 0x71, 0x74},
                           Edge{"largest bf16", 0x7f7f, 0xf7, 0x78, 0xf0, 0x78},
                           Edge{"-largest bf16", 0xff7f, 0xf7, 0xf8, 0xf0, 0xf8},
                           Edge{"2^-124", 0x0180, 0x00, 0x50, 0x00, 0x48},
                           Edge{"2^-133", 0x0001, 0x00, 0x08, 0x00, 0x24}}) {
    const Quantized e4m3 =
        QuantizeGroup({DType::kBf16, DType::kFp8E4M3FnX4, ScaleRule::kX2}, Filled(edge.element));
    EXPECT_EQ(e4m3.scale, edge.scale_e4m3) << edge.name;
    EXPECT_EQ(e4m3.codes, std::vector<std::uint8_t>(kGroup, edge.code_e4m3)) << edge.name;
    const Quantized e5m2 =
        QuantizeGroup({DType::kBf16, DType::kFp8E5M2X4, ScaleRule::kX2}, Filled(edge.element));
    EXPECT_EQ(e5m2.scale, edge.scale_e5m2) << edge.name;
    EXPECT_EQ(e5m2.codes, std::vector<std::uint8_t>(kGroup, edge.code_e5m2)) << edge.name;
  }
}

TEST(QuantizeMx, TiesGoToTheEvenCode) {
  // 128 as the largest makes X = 1 for e4m3fn.
  Group group = Filled(0x4300);
  group[0] = 0x4188;  // 17
  group[1] = 0x4198;  // 19
  group[2] = 0x3a80;  // 2^-10
  group[3] = 0x3b40;  // 3 * 2^-10
  const Quantized got = QuantizeGroup({DType::kBf16, DType::kFp8E4M3FnX4, ScaleRule::kX2}, group);
  EXPECT_EQ(got.scale, 0x7f);
  EXPECT_EQ(got.codes[0], 0x58);
  EXPECT_EQ(got.codes[1], 0x5a);
  EXPECT_EQ(got.codes[2], 0x00);
  EXPECT_EQ(got.codes[3], 0x02);
}

TEST(QuantizeMx, OcpRuleSaturatesWhereX2DoesNot) {
  const Group group = Filled(0x3fff);  // 1.9921875, above 1.75
  const Quantized ocp = QuantizeGroup({DType::kBf16, DType::kFp8E4M3FnX4, ScaleRule::kOcp}, group);
  EXPECT_EQ(ocp.scale, 0x77);
  EXPECT_EQ(ocp.codes[0], 0x7e);
  const Quantized x2 = QuantizeGroup({DType::kBf16, DType::kFp8E4M3FnX4, ScaleRule::kX2}, group);
  EXPECT_EQ(x2.scale, 0x78);
  EXPECT_EQ(x2.codes[0], 0x78);
}

Mode ArbitraryMode() {
  const std::vector<Mode> modes = AllModes();
  return modes[*rc::gen::inRange<std::size_t>(0, modes.size())];
}

// A finite group: any code with its exponent brought below Inf.
Group FiniteGroup(const Mode& mode) {
  Group group = *rc::gen::resize(
      rc::kNominalSize, rc::gen::container<Group>(kGroup, rc::gen::arbitrary<std::uint16_t>()));
  const int inf = mode.oracle().source.format.inf_code;
  for (std::uint16_t& code : group)
    code = static_cast<std::uint16_t>((code & 0x8000) | (code & 0x7fff) % inf);
  return group;
}

RC_GTEST_PROP(QuantizeMxProperty, X2NeverGoesAboveCode78, ()) {
  Mode mode = ArbitraryMode();
  mode.rule = ScaleRule::kX2;
  for (const std::uint8_t code : QuantizeGroup(mode, FiniteGroup(mode)).codes)
    RC_ASSERT((code & 0x7f) <= 0x78);
}

RC_GTEST_PROP(QuantizeMxProperty, LargerMagnitudesGetCodesAtLeastAsLarge, ()) {
  const Mode mode = ArbitraryMode();
  Group group = FiniteGroup(mode);
  std::sort(group.begin(), group.end(), [](int a, int b) { return (a & 0x7fff) < (b & 0x7fff); });
  const Quantized got = QuantizeGroup(mode, group);
  for (int i = 1; i < kGroup; ++i)
    RC_ASSERT((got.codes[i - 1] & 0x7f) <= (got.codes[i] & 0x7f));
}

RC_GTEST_PROP(QuantizeMxProperty, PlacesInTheGroupDoNotMatter, ()) {
  const Mode mode = ArbitraryMode();
  Group group = FiniteGroup(mode);
  const Quantized before = QuantizeGroup(mode, group);
  const int turn = *rc::gen::inRange(1, kGroup);
  std::rotate(group.begin(), group.begin() + turn, group.end());
  const Quantized after = QuantizeGroup(mode, group);
  RC_ASSERT(after.scale == before.scale);
  for (int i = 0; i < kGroup; ++i)
    RC_ASSERT(after.codes[i] == before.codes[(i + turn) % kGroup]);
}

TEST(QuantizeMx, RejectsWrongShapesAndTypes) {
  const Group group = Filled(0);
  std::array<std::uint32_t, 8> words;
  std::uint8_t scale = 0;
  const auto quantize = [&](DType source, DType target, int rows) {
    ops::QuantizeMx(source, target, ScaleRule::kX2, group.data(), rows, 1, words.data(), &scale);
  };
  EXPECT_THROW(quantize(DType::kBf16, DType::kFp8E4M3FnX4, 7), CheckFailure);
  EXPECT_THROW(quantize(DType::kFp32, DType::kFp8E4M3FnX4, 8), CheckFailure);
  EXPECT_THROW(quantize(DType::kBf16, DType::kFp4E2M1FnX4, 8), CheckFailure);
}

}  // namespace
}  // namespace bwmm
