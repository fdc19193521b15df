// x4 words: lane order and the exact widening of fp4 to e4m3fn.
#include "model/numerics/x4.h"

#include <gtest/gtest.h>

#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

TEST(X4, LaneZeroIsInTheLowBits) {
  EXPECT_EQ(PackFp8X4({0x11, 0x22, 0x33, 0x44}), 0x44332211u);
  EXPECT_EQ(PackFp4X4({0x1, 0x2, 0x3, 0xf}), 0xf321);
  EXPECT_EQ(UnpackFp8X4(0x44332211u), (std::array<std::uint8_t, 4>{0x11, 0x22, 0x33, 0x44}));
  EXPECT_EQ(UnpackFp4X4(0xf321), (std::array<std::uint8_t, 4>{0x1, 0x2, 0x3, 0xf}));
}

TEST(X4, Fp4PackingIgnoresTheHighBitsOfALane) {
  EXPECT_EQ(PackFp4X4({0xf1, 0xf2, 0xf3, 0xff}), 0xf321);
}

TEST(X4, PackingUndoesUnpacking) {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const auto half = static_cast<std::uint16_t>(word);
    ASSERT_EQ(PackFp4X4(UnpackFp4X4(half)), half);
    const std::uint32_t full = word * 0x9e3779b9u;
    ASSERT_EQ(PackFp8X4(UnpackFp8X4(full)), full);
  }
}

TEST(X4, WideningKeepsTheValueAndTheSignOfEveryFp4Code) {
  for (int code = 0; code < 16; ++code) {
    const double widened = test::E4M3FnOracle().Value(WidenFp4(static_cast<std::uint8_t>(code)));
    EXPECT_EQ(widened, test::E2M1Oracle().Value(code));
    EXPECT_EQ(std::signbit(widened), code >= 8);
  }
}

TEST(X4, WideningAWordWidensEveryLaneInItsPlace) {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const std::uint32_t widened = WidenFp4X4(static_cast<std::uint16_t>(word));
    for (int lane = 0; lane < 4; ++lane) {
      const int code = word >> (4 * lane) & 0xf;
      const int wide = widened >> (8 * lane) & 0xff;
      ASSERT_EQ(test::E4M3FnOracle().Value(wide), test::E2M1Oracle().Value(code)) << word;
    }
  }
}

}  // namespace
}  // namespace bwmm
