// PSUM row writes against MPFR sums and a search for the nearest bf16.
#include "model/ops/psum.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "model/ops/psum_array.h"

namespace bwmm::ops {
namespace {

// RNE(a + b) in a format of `bits` significant bits with fp32's exponent range.
float MpfrSum(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::nanf("");
  mpfr_t sum;
  mpfr_init2(sum, 400);
  mpfr_set_flt(sum, a, MPFR_RNDN);
  mpfr_add_d(sum, sum, b, MPFR_RNDN);
  float result = mpfr_get_flt(sum, MPFR_RNDN);
  if (mpfr_zero_p(sum))
    result = std::signbit(a) && std::signbit(b) ? -0.0F : 0.0F;
  mpfr_clear(sum);
  return result;
}

std::uint32_t BitsOf(float value) {
  return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value);
}

// The bf16 nearest to `value`, ties to the even code, by comparing distances to both neighbours.
std::uint16_t NearestBf16(float value) {
  if (std::isnan(value))
    return 0x7fc0;
  if (std::isinf(value) || value == 0)
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  const auto above = static_cast<std::uint16_t>(below + 1);
  const auto magnitude = [](std::uint16_t code) {
    // Inf takes the place of the next power of two, as IEEE rounding has it.
    return (code & 0x7fff) == 0x7f80
               ? std::ldexp(1.0, 128)
               : std::fabs(double{std::bit_cast<float>(std::uint32_t{code} << 16)});
  };
  const double to_below = std::fabs(double{value}) - magnitude(below);
  const double to_above = magnitude(above) - std::fabs(double{value});
  if (to_below != to_above)
    return to_below < to_above ? below : above;
  return below % 2 == 0 ? below : above;
}

std::uint32_t Interesting(std::mt19937& random) {
  constexpr std::uint32_t kCorners[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000,
                                        0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fa12345,
                                        0x3f800000, 0x3f808000, 0x3f818000, 0x7f7f8000};
  switch (random() % 3) {
    case 0:
      return kCorners[random() % std::size(kCorners)];
    case 1:
      return (random() & 0x80ffffff) | 0x3f000000;
    default:
      return random();
  }
}

TEST(Psum, AccumulatesLikeMpfr) {
  std::mt19937 random(5);
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t a = Interesting(random);
    const std::uint32_t b = Interesting(random);
    std::uint32_t word = a;
    WritePsumRow({.accumulate = true}, &b, 1, &word);
    ASSERT_EQ(word, BitsOf(MpfrSum(std::bit_cast<float>(a), std::bit_cast<float>(b))))
        << std::hex << a << " + " << b;
  }
}

TEST(Psum, Bf16RowsRoundAtEveryAccumulate) {
  std::mt19937 random(6);
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t old = random();
    const std::uint32_t row = Interesting(random);
    const int which = static_cast<int>(random() % 2);
    const bool accumulate = random() % 2 == 0;
    std::uint32_t word = old;
    WritePsumRow({.half = true, .which = which, .accumulate = accumulate}, &row, 1, &word);
    const float before = std::bit_cast<float>((old >> (16 * which)) << 16);
    const float value = std::bit_cast<float>(row);
    const std::uint16_t expected = NearestBf16(accumulate ? MpfrSum(before, value) : value);
    ASSERT_EQ((word >> (16 * which)) & 0xffff, expected) << std::hex << old << " row " << row;
    ASSERT_EQ((word >> (16 - 16 * which)) & 0xffff, (old >> (16 - 16 * which)) & 0xffff);
  }
}

TEST(Psum, TransposedRowsKeepNanPayloadsAndSignsInEitherHalf) {
  const std::uint32_t row[] = {0x7fa1, 0x8000, 0xffff};
  std::uint32_t words[] = {0x11110000, 0x22220000, 0x33330000};
  WritePsumRow({.half = true, .which = 0, .transpose = true}, row, 3, words);
  EXPECT_EQ(words[0], 0x11117fa1U);
  EXPECT_EQ(words[1], 0x22228000U);
  EXPECT_EQ(words[2], 0x3333ffffU);
  WritePsumRow({.half = true, .which = 1, .transpose = true}, row, 3, words);
  EXPECT_EQ(words[0], 0x7fa17fa1U);
  EXPECT_EQ(words[1], 0x80008000U);
  EXPECT_EQ(words[2], 0xffffffffU);
}

// From unit 6, half a word each: rows of 4 bytes in words 3, 4 and 5, of 2 bytes in both halves of
// 3 and the low one of 4.
TEST(PsumArray, RowsTakeAWordOrHalfOfOne) {
  const std::uint32_t bits[] = {0x11, 0x12, 0x21, 0x22, 0x31, 0x32};
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const auto rows = [](auto write) {
    PsumArray array(8);
    write(array);
    std::array<std::array<std::uint32_t, 2>, 8> words;
    for (int w = 0; w < 8; ++w)
      array.Read(w, words[w]);
    return words;
  };
  using Words = std::array<std::array<std::uint32_t, 2>, 8>;
  const Words turned = {{{}, {}, {}, {0x11, 0x12}, {0x21, 0x22}, {0x31, 0x32}, {}, {}}};
  const Words turned_halves = {{{}, {}, {}, {0x210011, 0x220012}, {0x31, 0x32}, {}, {}, {}}};
  const Words sums = {{{},
                       {},
                       {},
                       {0x3f800000, 0x40000000},
                       {0x40400000, 0x40800000},
                       {0x40a00000, 0x40c00000},
                       {},
                       {}}};
  const Words sums_halves = {{{}, {}, {}, {0x40403f80, 0x40804000}, {0x40a0, 0x40c0}, {}, {}, {}}};
  EXPECT_EQ(rows([&](PsumArray& a) { a.WriteTransposed(6, DType::kFp32, bits, 3, 2); }), turned);
  EXPECT_EQ(rows([&](PsumArray& a) { a.WriteTransposed(6, DType::kUint16, bits, 3, 2); }),
            turned_halves);
  EXPECT_EQ(rows([&](PsumArray& a) { a.Write(6, DType::kFp32, false, numbers, 3, 2); }), sums);
  EXPECT_EQ(rows([&](PsumArray& a) { a.Write(6, DType::kBf16, false, numbers, 3, 2); }),
            sums_halves);
}

}  // namespace
}  // namespace bwmm::ops
