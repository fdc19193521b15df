// Corners of the matmuls worked out by hand: a sum wider than a double, and rows of zeros against
// everything that is no number.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "model/ops/matmul.h"
#include "model/ops/matmul_mx.h"

namespace bwmm::ops {
namespace {

constexpr std::uint32_t kNan = 0x7fc00000;

std::uint32_t Bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// One group of E5M2 words against itself: the sum of the squares of its 32 elements, with the sign
// of `sign` (0x00 or 0x80) on the first lane of the stationary side.
std::uint32_t SquaresOf(std::uint32_t x_word, std::uint32_t w_word) {
  std::uint32_t w[8] = {w_word}, x[8] = {x_word};
  const std::uint8_t one = 127;
  float out = 0;
  MatmulMx(DType::kFp8E5M2X4, w, &one, DType::kFp8E5M2X4, x, &one, 8, 1, 1, &out);
  return Bits(out);
}

TEST(MatmulMxByHand, RoundsASumWiderThanADoubleOnce) {
  // E5M2 codes: 78 = 2^15, 48 = 2^3, 01 = 2^-16, and 80 more for minus. 2^30 + 2^6 is a tie between
  // 4e800000 and 4e800001 that 2^-32 decides, 62 bits away.
  EXPECT_EQ(SquaresOf(0x00014878, 0x00014878), 0x4e800001U);  // 2^30 + 2^6 + 2^-32
  EXPECT_EQ(SquaresOf(0x00014878, 0x00814878), 0x4e800000U);  // 2^30 + 2^6 - 2^-32
  EXPECT_EQ(SquaresOf(0x00004878, 0x00004878), 0x4e800000U);  // the tie itself goes to even
  EXPECT_EQ(SquaresOf(0x00014878, 0x0081c8f8), 0xce800001U);  // all minus
  EXPECT_EQ(SquaresOf(0x00014878, 0x0001c8f8), 0xce800000U);  // -2^30 - 2^6 + 2^-32
}

// out[2] of one row of zeros against two columns of one group; what is no number is in column 0.
std::vector<std::uint32_t> MxZeroRow(DType w_type, std::uint32_t w_word, std::uint8_t w_scale,
                                     std::uint8_t x_scale, std::uint32_t x_word = 0) {
  std::vector<std::uint32_t> w(16, 0x3c3c3c3c), x(8, x_word);
  w[2 * 5] = w_word;
  const std::uint8_t w_scales[] = {w_scale, 127};
  std::vector<float> out(2, 1.0F);
  MatmulMx(w_type, w.data(), w_scales, DType::kFp8E5M2X4, x.data(), &x_scale, 8, 2, 1, out.data());
  return {Bits(out[0]), Bits(out[1])};
}

TEST(MatmulMxByHand, GivesZerosForRowsOfZerosAgainstNumbers) {
  using Out = std::vector<std::uint32_t>;
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0x3c3c3c3c, 127, 127), (Out{0, 0}));
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0x3c3c3c3c, 254, 254), (Out{0, 0}));
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0x3c3c3c3c, 127, 127, 0x80808080), (Out{0, 0}))
      << "minus zeros";
}

TEST(MatmulMxByHand, GivesNanForRowsOfZerosAgainstWhatIsNoNumber) {
  using Out = std::vector<std::uint32_t>;
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0x007c0000, 127, 127), (Out{kNan, 0})) << "Inf";
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0xfd000000, 127, 127), (Out{kNan, 0})) << "NaN";
  EXPECT_EQ(MxZeroRow(DType::kFp8E4M3FnX4, 0x00007f00, 127, 127), (Out{kNan, 0})) << "e4m3fn NaN";
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0x3c3c3c3c, 255, 127), (Out{kNan, 0})) << "w scale ff";
  EXPECT_EQ(MxZeroRow(DType::kFp8E5M2X4, 0x3c3c3c3c, 127, 255), (Out{kNan, kNan})) << "x scale ff";
}

TEST(MatmulMxByHand, KeepsARowOfZerosApartFromItsNeighbours) {
  // Four rows are computed together: only the second has a scale of ff.
  const std::vector<std::uint32_t> w(8, 0x3c3c3c3c), x(8 * 4, 0);
  const std::uint8_t one = 127, x_scales[] = {127, 255, 127, 127};
  std::vector<float> out(4, 1.0F);
  MatmulMx(DType::kFp8E5M2X4, w.data(), &one, DType::kFp8E5M2X4, x.data(), x_scales, 8, 1, 4,
           out.data());
  EXPECT_EQ(Bits(out[0]), 0U);
  EXPECT_EQ(Bits(out[1]), kNan);
  EXPECT_EQ(Bits(out[2]), 0U);
  EXPECT_EQ(Bits(out[3]), 0U);
}

TEST(MatmulMxByHand, GivesNumbersForRowsThatAreZeroButForOneElement) {
  std::vector<std::uint32_t> w(16, 0x3c3c3c3c), x(16, 0);
  x[15] = 0x3c000000;  // 1.0 in the last lane of the last row
  const std::uint8_t ones[] = {127, 127};
  float out = 0;
  MatmulMx(DType::kFp8E5M2X4, w.data(), ones, DType::kFp8E5M2X4, x.data(), ones, 16, 1, 1, &out);
  EXPECT_EQ(Bits(out), Bits(1.0F));
}

// out[2] of `k` = 3 rows of zeros against two columns; the odd weight is in column 0.
std::vector<std::uint32_t> ZeroRow(std::uint32_t weight, std::uint32_t x_code = 0) {
  std::vector<std::uint32_t> w(6, 0x3f80), x(3, x_code);
  w[2 * 2] = weight;
  std::vector<float> out(2, 1.0F);
  Matmul(DType::kBf16, w.data(), DType::kBf16, x.data(), 3, 2, 1, out.data());
  return {Bits(out[0]), Bits(out[1])};
}

TEST(MatmulByHand, GivesZerosForRowsOfZerosAgainstNumbers) {
  using Out = std::vector<std::uint32_t>;
  EXPECT_EQ(ZeroRow(0x3f80), (Out{0, 0}));
  EXPECT_EQ(ZeroRow(0x7f7f), (Out{0, 0})) << "the largest number";
  EXPECT_EQ(ZeroRow(0x3f80, 0x8000), (Out{0, 0})) << "minus zeros";
}

TEST(MatmulByHand, GivesNanForRowsOfZerosAgainstWhatIsNoNumber) {
  using Out = std::vector<std::uint32_t>;
  for (const std::uint32_t weight : {0x7f80U, 0xff80U, 0x7fc0U, 0xff81U})
    EXPECT_EQ(ZeroRow(weight), (Out{kNan, 0})) << std::hex << weight;
}

}  // namespace
}  // namespace bwmm::ops
