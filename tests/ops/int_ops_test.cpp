// Integer arithmetic of the element engines: exact and saturating, against 128-bit integers.
#include <gtest/gtest.h>

#include "model/ops/tensor_ops.h"
#include "tests/ops/element_memory.h"

namespace bwmm::ops {
namespace {

using isa::AluOp;
using isa::Memory;
using isa::Operand;
using test::Dense;
using test::ElementMemory;

using Wide = __int128;

constexpr std::uint32_t kSeed = 20260101;
constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
const std::vector<std::int32_t> kCorners = {0,      1,     -1,   2,        -2,   46341,
                                            -46341, 65536, kMin, kMin + 1, kMax, kMax - 1};

Wide Alu(AluOp op, Wide a, Wide b) {
  switch (op) {
    case AluOp::kAdd:
      return a + b;
    case AluOp::kSubtract:
      return a - b;
    case AluOp::kMultiply:
      return a * b;
    case AluOp::kMax:
      return a > b ? a : b;
    case AluOp::kMin:
      return a < b ? a : b;
    case AluOp::kIsEqual:
      return a == b ? 1 : 0;
  }
  return 0;
}

std::int32_t Saturated(Wide value) {
  return static_cast<std::int32_t>(value < kMin ? kMin : value > kMax ? kMax : value);
}

Operand Ints(std::int64_t partitions, std::int64_t columns, int slot) {
  return Dense(Memory::kSbuf, DType::kInt32, partitions, {columns}, 1024 * slot);
}

std::vector<std::uint32_t> Codes(const std::vector<std::int32_t>& values) {
  return {values.begin(), values.end()};
}

constexpr std::array kOps = {AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply,
                             AluOp::kMax, AluOp::kMin,      AluOp::kIsEqual};

TEST(IntOps, PairsAreExactAndSaturate) {
  ElementMemory memory(kSeed);
  const auto n = static_cast<std::int64_t>(kCorners.size());
  const Operand a = Ints(n, n, 0), b = Ints(n, n, 1), dst = Ints(n, n, 2);
  std::vector<std::int32_t> left, right;
  for (const std::int32_t x : kCorners) {
    for (const std::int32_t y : kCorners) {
      left.push_back(x);
      right.push_back(y);
    }
  }
  memory.Fill(a, Codes(left));
  memory.Fill(b, Codes(right));
  for (const AluOp op : kOps) {
    Execute(isa::TensorTensor{.op = op, .dst = dst, .a = a, .b = b}, memory.core());
    const auto result = memory.Codes(dst);
    for (std::size_t i = 0; i < result.size(); ++i) {
      ASSERT_EQ(static_cast<std::int32_t>(result[i]), Saturated(Alu(op, left[i], right[i])))
          << left[i] << ' ' << isa::NameOf(op) << ' ' << right[i];
    }
  }
}

// Two operations in a row: an intermediate result never wraps.
TEST(IntOps, ChainsAreExactAndSaturate) {
  ElementMemory memory(kSeed);
  const auto n = static_cast<std::int64_t>(kCorners.size());
  const Operand data = Ints(n, n, 0), tensor = Ints(n, n, 1), dst = Ints(n, n, 2);
  const Operand scalar = Ints(n, 1, 3);
  for (std::size_t shift = 0; shift < kCorners.size(); ++shift) {
    std::vector<std::int32_t> x, y, s;
    for (std::size_t p = 0; p < kCorners.size(); ++p) {
      s.push_back(kCorners[p]);
      for (std::size_t c = 0; c < kCorners.size(); ++c) {
        x.push_back(kCorners[c]);
        y.push_back(kCorners[(c + shift) % kCorners.size()]);
      }
    }
    memory.Fill(data, Codes(x));
    memory.Fill(tensor, Codes(y));
    memory.Fill(scalar, Codes(s));
    for (const AluOp op0 : kOps) {
      for (const AluOp op1 : kOps) {
        Execute(isa::ScalarTensorTensor{.dst = dst,
                                        .data = data,
                                        .op0 = op0,
                                        .scalar = scalar,
                                        .op1 = op1,
                                        .tensor = tensor},
                memory.core());
        const auto result = memory.Codes(dst);
        for (std::size_t i = 0; i < result.size(); ++i) {
          const Wide expected = Alu(op1, Alu(op0, x[i], s[i / n]), y[i]);
          ASSERT_EQ(static_cast<std::int32_t>(result[i]), Saturated(expected))
              << '(' << x[i] << ' ' << isa::NameOf(op0) << ' ' << s[i / n] << ") "
              << isa::NameOf(op1) << ' ' << y[i];
        }
      }
    }
  }
}

// The same with a column for each of the two, and with a constant for the second.
TEST(IntOps, ScalarsAreExactAndSaturate) {
  ElementMemory memory(kSeed);
  const auto n = static_cast<std::int64_t>(kCorners.size());
  const Operand src = Ints(n, n, 0), dst = Ints(n, n, 1), left = Ints(n, 1, 2),
                right = Ints(n, 1, 3);
  std::vector<std::int32_t> x;
  for (std::int64_t p = 0; p < n; ++p)
    x.insert(x.end(), kCorners.begin(), kCorners.end());
  memory.Fill(src, Codes(x));
  memory.Fill(left, Codes(kCorners));
  constexpr std::int32_t kConstant = 1 << 25;
  for (std::size_t shift = 0; shift < kCorners.size(); ++shift) {
    std::vector<std::int32_t> y = kCorners;
    std::ranges::rotate(y, y.begin() + static_cast<std::ptrdiff_t>(shift));
    memory.Fill(right, Codes(y));
    for (const AluOp op0 : kOps) {
      for (const AluOp op1 : kOps) {
        for (const bool constant : {false, true}) {
          isa::TensorScalar op{
              .dst = dst, .src = src, .op0 = op0, .scalar0 = left, .op1 = op1, .scalar1 = right};
          if (constant)
            op.scalar1 = static_cast<float>(kConstant);
          Execute(op, memory.core());
          const auto result = memory.Codes(dst);
          for (std::size_t i = 0; i < result.size(); ++i) {
            const std::int32_t second = constant ? kConstant : y[i / n];
            const Wide expected = Alu(op1, Alu(op0, x[i], kCorners[i / n]), second);
            ASSERT_EQ(static_cast<std::int32_t>(result[i]), Saturated(expected))
                << '(' << x[i] << ' ' << isa::NameOf(op0) << ' ' << kCorners[i / n] << ") "
                << isa::NameOf(op1) << ' ' << second;
          }
        }
      }
    }
  }
}

TEST(IntOps, AProductOfARowSaturatesAndDoesNotWrap) {
  ElementMemory memory(kSeed);
  const Operand src = Ints(2, 8, 0), dst = Ints(2, 1, 1);
  memory.Fill(src, Codes({kMax, kMax, kMax, kMax, kMax, kMax, kMax, kMax,  //
                          kMin, kMax, kMax, kMax, kMax, kMax, kMax, kMax}));
  Execute(isa::TensorReduce{.op = AluOp::kMultiply, .dst = dst, .src = src}, memory.core());
  EXPECT_EQ(memory.Codes(dst), Codes({kMax, kMin}));
}

}  // namespace
}  // namespace bwmm::ops
