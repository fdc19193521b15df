#include "model/ops/operand_view.h"

#include <algorithm>
#include <array>
#include <limits>

#include "model/isa/pattern.h"
#include "model/numerics/convert.h"
#include "model/support/check.h"

namespace bwmm::ops {
namespace {

constexpr int kLanes = 128;
// Rows are mirrored in blocks of one cache line per partition.
constexpr int kMirrorBlock = 16;

}  // namespace

OperandView::OperandView(const isa::Operand& operand, CoreMemory& memory)
    : operand_(operand), memory_(memory) {
  if (operand.memory != isa::Memory::kPsum)
    return;
  first_word_ = static_cast<int>(operand.offset / 4);
  const auto end = operand.offset + static_cast<std::uint64_t>(operand.span_bytes());
  words_ = static_cast<int>((end + 3) / 4) - first_word_;
  mirror_.resize(operand.partitions * words_);
  std::array<std::array<std::uint32_t, kLanes>, kMirrorBlock> rows;
  for (int w = 0; w < words_; w += kMirrorBlock) {
    const int block = std::min(kMirrorBlock, words_ - w);
    for (int i = 0; i < block; ++i)
      memory_.psum.Read(first_word_ + w + i, rows[i]);
    for (std::int64_t p = 0; p < operand.partitions; ++p) {
      for (int i = 0; i < block; ++i)
        mirror_[p * words_ + w + i] = rows[i][operand.partition + p];
    }
  }
}

std::byte* OperandView::Row(std::int64_t p) {
  switch (operand_.memory) {
    case isa::Memory::kPsum:
      return reinterpret_cast<std::byte*>(mirror_.data() + p * words_) + operand_.offset % 4;
    case isa::Memory::kSbuf:
      return memory_.sbuf.At(operand_.partition + static_cast<int>(p), operand_.offset,
                             operand_.span_bytes());
    case isa::Memory::kHbm:
      break;
  }
  const std::int64_t row_bytes = operand_.partition_stride * SizeOf(operand_.dtype);
  return memory_.hbm.At(operand_.offset + p * row_bytes, operand_.span_bytes());
}

template <typename F>
void OperandView::ForEachRun(F f) const {
  const int bytes = SizeOf(operand_.dtype);
  // Inner dimensions that continue each other are one run, so that runs are long.
  const std::span<const isa::Dim> dims = isa::FreeDims(operand_);
  const isa::Lines lines = isa::StridedLines(dims);
  std::int64_t first = 0;
  isa::ForEachIndex(dims.first(lines.outer), [&](std::int64_t element) {
    f(element * bytes, lines.stride * bytes, static_cast<int>(lines.count), first);
    first += lines.count;
  });
}

void OperandView::Load(std::int64_t p, float* values) {
  const std::byte* row = Row(p);
  ForEachRun([&](std::int64_t offset, std::int64_t stride, int count, std::int64_t first) {
    Widen(operand_.dtype, row + offset, stride, count, values + first);
  });
}

void OperandView::Store(std::int64_t p, const float* values) {
  std::byte* row = Row(p);
  ForEachRun([&](std::int64_t offset, std::int64_t stride, int count, std::int64_t first) {
    RoundTo(operand_.dtype, values + first, count, row + offset, stride);
  });
}

void OperandView::LoadInts(std::int64_t p, std::int64_t* values) {
  Check(operand_.dtype == DType::kInt32, "integer rows are int32");
  const std::byte* row = Row(p);
  ForEachRun([&](std::int64_t offset, std::int64_t stride, int count, std::int64_t first) {
    for (int i = 0; i < count; ++i)
      values[first + i] = *reinterpret_cast<const std::int32_t*>(row + offset + i * stride);
  });
}

void OperandView::StoreInts(std::int64_t p, const std::int64_t* values) {
  Check(operand_.dtype == DType::kInt32, "integer rows are int32");
  using Int32 = std::numeric_limits<std::int32_t>;
  std::byte* row = Row(p);
  ForEachRun([&](std::int64_t offset, std::int64_t stride, int count, std::int64_t first) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t value =
          std::clamp<std::int64_t>(values[first + i], Int32::min(), Int32::max());
      *reinterpret_cast<std::int32_t*>(row + offset + i * stride) =
          static_cast<std::int32_t>(value);
    }
  });
}

void OperandView::Commit() {
  if (operand_.memory != isa::Memory::kPsum)
    return;
  std::array<std::uint32_t, kLanes> row;
  for (int w = 0; w < words_; ++w) {
    memory_.psum.Read(first_word_ + w, row);
    for (std::int64_t p = 0; p < operand_.partitions; ++p)
      row[operand_.partition + p] = mirror_[p * words_ + w];
    memory_.psum.Write(first_word_ + w, row);
  }
}

}  // namespace bwmm::ops
