// max8 against a stable sort of the row, and its edges by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/isa/text.h"
#include "model/ops/execute.h"
#include "tests/ops/element_memory.h"

namespace bwmm::ops {
namespace {

using isa::Memory;
using isa::Operand;
using test::CodeOf;
using test::Dense;
using test::ElementMemory;

constexpr std::uint32_t kSeed = 20260101;

void TakeLargest(ElementMemory& memory, const Operand& dst, const Operand& src) {
  Execute({.engine = isa::Engine::kVector, .body = isa::Max8{.dst = dst, .src = src}},
          memory.core());
}

// The eight in front when the row is sorted; what is no number goes to the end.
std::vector<double> Largest(std::vector<double> row) {
  for (double& value : row)
    value = std::isnan(value) ? -INFINITY : static_cast<float>(value);
  std::stable_sort(row.begin(), row.end(), std::greater<>());
  row.resize(8);
  return row;
}

TEST(Max8, IsTheFrontOfTheSortedRow) {
  ElementMemory memory(kSeed);
  constexpr std::array kTypes = {DType::kFp32, DType::kBf16, DType::kFp16, DType::kFp8E5M2,
                                 DType::kInt32};
  for (int i = 0; i < 200; ++i) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(memory.random());
    };
    Operand src = Dense(pick(0, 2) == 0 ? Memory::kPsum : Memory::kSbuf, kTypes[pick(0, 4)],
                        pick(1, 5), {pick(2, 5), pick(4, 40)});
    src.dims[0].stride += pick(0, 2);
    const DType type = src.dtype == DType::kInt32 ? DType::kInt32 : DType::kFp32;
    Operand dst = Dense(Memory::kSbuf, type, src.partitions, {8}, 3072);
    dst.dims[0].stride = pick(1, 3);
    std::vector<std::uint32_t> expected;
    const std::vector<double> values = memory.Values(src);
    const std::int64_t n = src.free_size();
    for (std::int64_t p = 0; p < src.partitions; ++p) {
      for (const double value : Largest({values.begin() + p * n, values.begin() + (p + 1) * n}))
        expected.push_back(CodeOf(type, value));
    }
    TakeLargest(memory, dst, src);
    ASSERT_EQ(memory.Codes(dst), expected) << ToText(src) << " case " << i << " seed " << kSeed;
  }
}

std::vector<std::uint32_t> OfRow(const std::vector<std::uint32_t>& codes) {
  ElementMemory memory(kSeed);
  const auto n = static_cast<std::int64_t>(codes.size());
  const Operand src = Dense(Memory::kSbuf, DType::kFp32, 1, {n}, 0);
  const Operand dst = Dense(Memory::kSbuf, DType::kFp32, 1, {8}, 2048);
  memory.Fill(src, codes);
  TakeLargest(memory, dst, src);
  return memory.Codes(dst);
}

constexpr std::uint32_t kOne = 0x3f800000, kTwo = 0x40000000, kInf = 0x7f800000;
constexpr std::uint32_t kMinusInf = 0xff800000, kMinusZero = 0x80000000, kNan = 0x7fc00000;

TEST(Max8, RepeatsEqualValues) {
  EXPECT_EQ(OfRow({kOne, kTwo, kOne, kTwo, kOne, kTwo, kOne, kTwo, kOne, kTwo}),
            (std::vector{kTwo, kTwo, kTwo, kTwo, kTwo, kOne, kOne, kOne}));
}

TEST(Max8, TakesNanForMinusInfinity) {
  EXPECT_EQ(OfRow({kNan, kOne, 0xffc00001, kInf, kNan, kMinusInf, kTwo, kNan}),
            (std::vector{kInf, kTwo, kOne, kMinusInf, kMinusInf, kMinusInf, kMinusInf, kMinusInf}));
}

TEST(Max8, KeepsZerosInTheirOrder) {
  EXPECT_EQ(OfRow({kMinusZero, 0, kMinusZero, 0, kOne, 0, 0, 0, 0, 0}),
            (std::vector<std::uint32_t>{kOne, kMinusZero, 0, kMinusZero, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace bwmm::ops
