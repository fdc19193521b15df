// The PE's arithmetic, function by function, against the host's fma and MPFR.
#include <gtest/gtest.h>
#include <mpfr.h>
#include <verilated.h>

#include <bit>
#include <cmath>
#include <random>

#include "VPeArithProbe.h"
#include "model/numerics/e8m0.h"
#include "model/numerics/scale_group.h"
#include "tb/common/pe_oracle.h"

namespace bwmm::tb {
namespace {

// bwmm_pkg::pe_fmt_e
struct Format {
  DType dtype;
  int code;
  int bits;
  MaybePart part = std::nullopt;

  std::uint32_t mask() const { return static_cast<std::uint32_t>((1ULL << bits) - 1); }
  double value(std::uint32_t raw) const {
    return part ? PartOf(ValueOf(dtype, raw), *part) : ValueOf(dtype, raw);
  }
};
constexpr Format kScalar[] = {{DType::kBf16, 1, 16},
                              {DType::kFp16, 2, 16},
                              {DType::kFp8E4M3Fn, 3, 8},
                              {DType::kFp8E4M3, 4, 8},
                              {DType::kFp8E5M2, 5, 8},
                              {DType::kFp32, 9, 32, PePart::kHigh},
                              {DType::kFp32, 10, 32, PePart::kLow}};
constexpr Format kLanes[] = {
    {DType::kFp8E4M3FnX4, 6, 8}, {DType::kFp8E5M2X4, 7, 8}, {DType::kFp4E2M1FnX4, 8, 4}};

class PeArith : public testing::Test {
 protected:
  VerilatedContext context_;
  VPeArithProbe probe_{&context_};
  std::mt19937_64 random_{2026};

  // fp32 bits near `center`'s exponent, or a corner, or anything.
  std::uint32_t AnyFp32(int center) {
    constexpr std::uint32_t kCorners[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001,
                                          0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
                                          0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000};
    const auto bits = static_cast<std::uint32_t>(random_());
    switch (random_() % 8) {
      case 0:
        return kCorners[random_() % std::size(kCorners)];
      case 1:
        return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
      case 2:  // few mantissa bits: ties and exact cancellation
        return (bits & 0x80700000) | (static_cast<std::uint32_t>(std::clamp<int>(
                                          center + static_cast<int>(bits % 9) - 4, 0, 254))
                                      << 23);
      default:
        return (bits & 0x807fffff) |
               (static_cast<std::uint32_t>(
                    std::clamp<int>(center + static_cast<int>((bits >> 24) % 60) - 30, 0, 254))
                << 23);
    }
  }
};

TEST_F(PeArith, TheScaleGroupIsTheDescriptors) {
  probe_.eval();
  EXPECT_EQ(probe_.group_rows_o, kMxGroup.rows);
  EXPECT_EQ(probe_.group_lanes_o, kMxGroup.lanes);
  ASSERT_EQ(kMxGroup.scale, DType::kE8M0);
  EXPECT_EQ(probe_.scale_bias_o, E8M0::kBias);
  EXPECT_EQ(probe_.scale_nan_o, E8M0::kNan);
}

TEST_F(PeArith, DecodesEveryScalarCode) {
  for (const Format& format : kScalar) {
    probe_.w_fmt_i = static_cast<std::uint8_t>(format.code);
    // Of fp32 a million: all edges of the fields among them.
    const std::uint32_t codes = format.bits == 32 ? 1'000'000 : 1U << format.bits;
    for (std::uint32_t i = 0; i < codes; ++i) {
      const std::uint32_t code = format.bits == 32 ? AnyFp32(static_cast<int>(i % 255)) : i;
      probe_.w_i = code;
      probe_.eval();
      const std::uint32_t word = probe_.w_decoded_o;
      const double expected = format.value(code);
      ASSERT_EQ((word >> 24) & 1, std::isnan(expected)) << NameOf(format.dtype) << " " << code;
      ASSERT_EQ((word >> 23) & 1, std::isinf(expected)) << NameOf(format.dtype) << " " << code;
      if (std::isnan(expected))
        continue;
      ASSERT_EQ((word >> 22) & 1, std::signbit(expected)) << NameOf(format.dtype) << " " << code;
      if (std::isinf(expected))
        continue;
      const double value = std::ldexp(word & 0xfff, static_cast<int>((word >> 12) & 0x3ff) - 523);
      ASSERT_EQ(value, std::fabs(expected)) << NameOf(format.dtype) << " " << code;
    }
  }
}

TEST_F(PeArith, DecodesEveryLaneCode) {
  for (const Format& format : kLanes) {
    probe_.w_fmt_i = static_cast<std::uint8_t>(format.code);
    const int unit = format.dtype == DType::kFp8E5M2X4 ? -16 : -9;
    for (std::uint32_t code = 0; code < 1U << format.bits; ++code) {
      for (std::uint32_t lane = 0; lane < 4; ++lane) {
        probe_.lane_i = lane;
        // Other lanes hold the complement, which must not leak in.
        probe_.w_i = ~0U ^ (((~code) & ((1U << format.bits) - 1)) << (lane * format.bits));
        probe_.eval();
        const double expected = ValueOf(format.dtype, code);
        ASSERT_EQ(probe_.w_special_o, 2 * std::isnan(expected) + std::isinf(expected)) << code;
        ASSERT_EQ(probe_.x_special_o, 2 * std::isnan(expected) + std::isinf(expected)) << code;
        if (!std::isfinite(expected))
          continue;
        ASSERT_EQ(std::ldexp(static_cast<std::int64_t>(probe_.w_lane_o), unit), expected) << code;
        ASSERT_EQ(std::ldexp(static_cast<std::int64_t>(probe_.x_lane_o), unit), expected) << code;
      }
    }
  }
}

TEST_F(PeArith, FusedMultiplyAddRoundsOnce) {
  for (int i = 0; i < 2000000; ++i) {
    const Format& w = kScalar[random_() % std::size(kScalar)];
    const Format& x = kScalar[random_() % std::size(kScalar)];
    probe_.w_fmt_i = static_cast<std::uint8_t>(w.code);
    probe_.x_fmt_i = static_cast<std::uint8_t>(x.code);
    probe_.w_i = static_cast<std::uint32_t>(random_()) & w.mask();
    probe_.x_i = static_cast<std::uint32_t>(random_()) & x.mask();
    const double product = w.value(probe_.w_i) * x.value(probe_.x_i);
    const int center = std::isfinite(product) && product != 0 ? std::ilogb(product) + 127
                                                              : static_cast<int>(i % 255);
    probe_.p_i = AnyFp32(std::clamp(center, 0, 254));
    probe_.eval();
    const float expected =
        std::fma(static_cast<float>(w.value(probe_.w_i)), static_cast<float>(x.value(probe_.x_i)),
                 std::bit_cast<float>(probe_.p_i));
    ASSERT_EQ(probe_.fma_o, CanonicalBits(expected))
        << std::hex << "fma(" << NameOf(w.dtype) << " 0x" << probe_.w_i << ", " << NameOf(x.dtype)
        << " 0x" << probe_.x_i << ", 0x" << probe_.p_i << ")";
  }
}

TEST_F(PeArith, AddsLikeIeee) {
  for (int i = 0; i < 2000000; ++i) {
    probe_.a_i = AnyFp32(static_cast<int>(random_() % 255));
    probe_.b_i = AnyFp32(static_cast<int>((probe_.a_i >> 23) & 0xff));
    probe_.eval();
    const float sum = std::bit_cast<float>(probe_.a_i) + std::bit_cast<float>(probe_.b_i);
    ASSERT_EQ(probe_.sum_o, CanonicalBits(sum))
        << std::hex << "0x" << probe_.a_i << " + 0x" << probe_.b_i;
  }
}

TEST_F(PeArith, RoundsToTheNearestBf16) {
  for (int i = 0; i < 1000000; ++i) {
    probe_.a_i = i % 2 == 0 ? AnyFp32(static_cast<int>(random_() % 255))
                            : (static_cast<std::uint32_t>(random_()) & 0xffff0000U) | 0x8000U;
    const float value = std::bit_cast<float>(probe_.a_i);
    if (std::isnan(value))
      probe_.a_i = 0x7fc00000;
    probe_.eval();
    // MPFR with 8 significant bits and bf16's exponent range.
    mpfr_set_emin(-132);
    mpfr_set_emax(128);
    mpfr_t rounded;
    mpfr_init2(rounded, 8);
    const int inexact = mpfr_set_flt(rounded, std::bit_cast<float>(probe_.a_i), MPFR_RNDN);
    mpfr_subnormalize(rounded, mpfr_check_range(rounded, inexact, MPFR_RNDN), MPFR_RNDN);
    const std::uint32_t expected = CanonicalBits(mpfr_get_flt(rounded, MPFR_RNDN)) >> 16;
    mpfr_clear(rounded);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    ASSERT_EQ(probe_.bf16_o, expected) << std::hex << "0x" << probe_.a_i;
  }
}

TEST_F(PeArith, DequantRoundsTheWideSumOnce) {
  for (int i = 0; i < 1000000; ++i) {
    // Two halves of every size, both signs; the sum may be zero or lose its top bits.
    const int high_bits = static_cast<int>(random_() % 56);
    const int low_bits = static_cast<int>(random_() % 56);
    const auto high =
        random_() % 3 == 0 ? 0 : static_cast<std::int64_t>(random_() << 8) >> (63 - high_bits);
    std::int64_t low = static_cast<std::int64_t>(random_() << 8) >> (63 - low_bits);
    if (random_() % 8 == 0)
      low = -(high << 16) + static_cast<std::int64_t>(random_() % 3) - 1;
    const int units = 18 + 7 * static_cast<int>(random_() % 3);
    int scale_sum = static_cast<int>(random_() % 509);
    if (random_() % 2 == 0) {
      // Near the subnormals, where the rounding place moves.
      scale_sum = std::clamp(
          254 - 126 + units - std::max(high_bits + 16, low_bits) + static_cast<int>(random_() % 30),
          0, 508);
    }
    probe_.high_i = static_cast<std::uint64_t>(high);
    probe_.low_i = static_cast<std::uint64_t>(low);
    probe_.scale_sum_i = static_cast<std::uint32_t>(scale_sum);
    probe_.units_i = static_cast<std::uint32_t>(units);
    probe_.nan_i = random_() % 64 == 0;
    probe_.eval();
    mpfr_t sum;
    mpfr_init2(sum, 200);
    mpfr_set_si(sum, high, MPFR_RNDN);
    mpfr_mul_2si(sum, sum, 16, MPFR_RNDN);
    mpfr_add_si(sum, sum, low, MPFR_RNDN);
    mpfr_mul_2si(sum, sum, scale_sum - 254 - units, MPFR_RNDN);
    const float rounded = mpfr_zero_p(sum) ? 0.0F : mpfr_get_flt(sum, MPFR_RNDN);
    mpfr_clear(sum);
    ASSERT_EQ(probe_.dequant_o, probe_.nan_i ? 0x7fc00000U : CanonicalBits(rounded))
        << high << " * 2^16 + " << low << ", scales " << scale_sum << ", units " << units;
  }
}

}  // namespace
}  // namespace bwmm::tb
