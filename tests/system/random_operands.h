// Random operands: any rank, dense, strided, permuted, overlapping and broadcast patterns, anywhere
// their memory allows.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "model/isa/instruction.h"
#include "tests/system/program_parts.h"
#include "tests/system/random_layout.h"

namespace bwmm::test {

using isa::Memory;
using isa::Operand;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t Below(std::int64_t count) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
  }
  bool OneIn(int count) { return Below(count) == 0; }
  template <typename List>
  auto Of(const List& list) {
    return *(std::begin(list) + Below(std::ssize(list)));
  }
  template <typename T>
  T Of(std::initializer_list<T> list) {
    return list.begin()[Below(std::ssize(list))];
  }

 private:
  std::mt19937_64 random_;
};

enum class Use : std::uint8_t { kRead, kWrite };  // what is written has no element twice

// The free dimensions of `free` elements. A dense one has its elements in one run.
inline void SetPattern(Operand& operand, std::int64_t free, Use use, bool dense, Dice& dice) {
  operand.rank = static_cast<int>(free == 1 ? dice.Below(5) : 1 + dice.Below(4));
  for (int i = 0; i < operand.rank; ++i) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= free; ++d) {
      if (free % d == 0)
        divisors.push_back(d);
    }
    operand.dims[i].size = i + 1 == operand.rank ? free : dice.Of(divisors);
    free /= operand.dims[i].size;
  }
  std::vector<int> order(operand.rank);  // innermost first
  for (int i = 0; i < operand.rank; ++i)
    order[i] = operand.rank - 1 - i;
  const int form = dense ? 0 : static_cast<int>(dice.Below(6));
  if (form == 1) {
    for (std::size_t i = 1; i < order.size(); ++i)
      std::swap(order[i], order[dice.Below(static_cast<std::int64_t>(i) + 1)]);
  }
  std::int64_t step = form == 2 ? 2 + dice.Below(3) : 1;
  for (const int i : order) {
    operand.dims[i].stride = step;
    step *= operand.dims[i].size;
    if (form == 3)
      step += dice.Below(9);
  }
  for (int i = 0; i < operand.rank; ++i) {
    if (operand.dims[i].size == 1 && dice.OneIn(4))
      operand.dims[i].stride = dice.Below(10);
  }
  if (operand.rank == 0 || dense)
    return;
  if (use == Use::kRead && form == 4)
    operand.dims[dice.Below(operand.rank)].stride = 0;
  if (use == Use::kRead && form == 5)
    operand.dims[0].stride = 1;
}

// Elements from the first to one past the last.
inline std::int64_t SpanOf(const Operand& operand) {
  return operand.span_bytes() / SizeOf(operand.dtype);
}

// A first partition that engines take.
inline int EnginePartition(std::int64_t partitions, Dice& dice) {
  if (partitions > 64)
    return 0;
  return static_cast<int>(partitions > 32 ? 64 * dice.Below(2) : 32 * dice.Below(4));
}

// Byte `at` of [begin, begin + bytes) on a boundary of its type, so that `span` bytes fit.
inline std::uint64_t AnyOffset(std::uint64_t begin, std::int64_t bytes, std::int64_t span,
                               DType dtype, Dice& dice) {
  const std::int64_t size = SizeOf(dtype);
  return begin + static_cast<std::uint64_t>(dice.Below((bytes - span) / size + 1) * size);
}

// Whether two operands have no byte in common, for sure.
inline bool Apart(const Operand& a, const Operand& b) {
  if (a.memory != b.memory)
    return true;
  const auto end = [](const Operand& o) {
    const std::int64_t rows =
        o.memory == Memory::kHbm ? (o.partitions - 1) * o.partition_stride * SizeOf(o.dtype) : 0;
    return o.offset + static_cast<std::uint64_t>(rows + o.span_bytes());
  };
  if (a.memory != Memory::kHbm &&
      (a.partition + a.partitions <= b.partition || b.partition + b.partitions <= a.partition))
    return true;
  return end(a) <= b.offset || end(b) <= a.offset;
}

// Dense rows of a range of HBM.
inline Operand DenseRows(const Area& area, DType dtype, std::int64_t rows) {
  Operand operand{
      .memory = Memory::kHbm, .dtype = dtype, .partitions = rows, .offset = area.begin, .rank = 1};
  operand.partition_stride = area.bytes / rows / SizeOf(dtype);
  operand.dims[0] = {.size = operand.partition_stride, .stride = 1};
  return operand;
}

}  // namespace bwmm::test
