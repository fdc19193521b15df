// Which regions meet, against byte sets counted element by element.
#include "model/isa/region.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "model/isa/text.h"
#include "tests/isa/address_oracle.h"

namespace bwmm::isa {
namespace {

constexpr std::uint32_t kSeed = 20260203;
constexpr int kSpace = 4096;

std::vector<bool> BytesOf(const Operand& operand) {
  std::vector<bool> bytes(kSpace);
  for (const test::Place& place : test::ElementPlaces(operand)) {
    for (int i = 0; i < SizeOf(operand.dtype); ++i)
      bytes.at(place.byte + i) = true;
  }
  return bytes;
}

// Rows of HBM in up to four more dimensions, in any order: with gaps, broadcast, permuted, windows
// that slide over each other. Strides come from few values, so that two patterns often share one.
Operand RandomPattern(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  constexpr std::array kTypes = {DType::kFp32, DType::kBf16, DType::kUint8};
  constexpr std::array kStrides = {0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 48, 64, 96};
  Operand o{.memory = Memory::kHbm, .dtype = kTypes[pick(0, 2)]};
  o.offset = pick(0, 160);
  o.partitions = pick(1, 5);
  o.partition_stride = kStrides[pick(1, 13)];
  o.rank = pick(0, 3);
  for (int i = 0; i < o.rank; ++i)
    o.dims[i] = {.size = pick(1, 4), .stride = kStrides[pick(0, 13)]};
  return o;
}

bool Meet(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (int i = 0; i < kSpace; ++i) {
    if (a[i] && b[i])
      return true;
  }
  return false;
}

TEST(Region, TwoMeetWhereTheyShareAByte) {
  std::mt19937 random(kSeed);
  int meet = 0, apart = 0, apart_in_one_box = 0;
  for (int i = 0; i < 40000; ++i) {
    const Operand x = RandomPattern(random), y = RandomPattern(random);
    const Region a = RegionOf(x), b = RegionOf(y);
    const bool expected = Meet(BytesOf(x), BytesOf(y));
    ++(expected ? meet : apart);
    if (!expected && a.begin < b.end && b.begin < a.end)
      ++apart_in_one_box;
    ASSERT_EQ(ShareBytes(a, b), expected)
        << ToText(x) << " and " << ToText(y) << " case " << i << " seed " << kSeed;
    ASSERT_EQ(ShareBytes(b, a), expected);
  }
  EXPECT_GT(meet, 5000);
  EXPECT_GT(apart, 5000);
  EXPECT_GT(apart_in_one_box, 3000);
}

TEST(Region, CoversNothingItDoesNotHold) {
  std::mt19937 random(kSeed);
  int covered = 0;
  for (int i = 0; i < 100000; ++i) {
    const Operand x = RandomPattern(random);
    Operand y = RandomPattern(random);
    if (i % 2 == 0) {  // often the same bytes, walked in another order
      y = x;
      std::reverse(y.dims.begin(), y.dims.begin() + y.rank);
    }
    if (!Covers(RegionOf(x), RegionOf(y)))
      continue;
    ++covered;
    const std::vector<bool> a = BytesOf(x), b = BytesOf(y);
    for (int byte = 0; byte < kSpace; ++byte)
      ASSERT_TRUE(a[byte] || !b[byte]) << ToText(x) << " and " << ToText(y) << " seed " << kSeed;
  }
  EXPECT_GT(covered, 20000);
}

// 128 rows of 4 KiB, cut into 8 slices of columns.
TEST(Region, SlicesOfColumnsAreApart) {
  const auto slice = [](std::int64_t first, std::int64_t columns) {
    Operand o{.memory = Memory::kHbm,
              .dtype = DType::kBf16,
              .partitions = 128,
              .partition_stride = 2048,
              .offset = static_cast<std::uint64_t>(2 * first),
              .rank = 1};
    o.dims[0] = {.size = columns, .stride = 1};
    return RegionOf(o);
  };
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j)
      EXPECT_EQ(ShareBytes(slice(256 * i, 256), slice(256 * j, 256)), i == j) << i << " " << j;
  }
  EXPECT_TRUE(ShareBytes(slice(0, 257), slice(256, 256)));
  EXPECT_TRUE(Covers(slice(0, 2048), slice(256, 256)));
  EXPECT_FALSE(Covers(slice(256, 256), slice(0, 2048)));
}

}  // namespace
}  // namespace bwmm::isa
