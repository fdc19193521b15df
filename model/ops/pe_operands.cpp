#include "model/ops/pe_operands.h"

#include <cstring>
#include <utility>

#include "model/isa/pattern.h"
#include "model/numerics/scale_group.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {
namespace {

template <typename T>
void Spread(const std::byte* row, std::int64_t stride, int count, std::uint32_t* words) {
  for (int i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, row + i * stride, sizeof value);
    words[i] = value;
  }
}

// [rows][2][columns] bytes to [rows][columns] pairs.
void PairRows(PeOperand& operand) {
  operand.columns /= 2;
  std::vector<std::uint32_t> pairs;
  for (int p = 0; p < operand.rows; ++p) {
    const std::uint32_t* first = &operand.data[std::size_t{2} * p * operand.columns];
    for (int c = 0; c < operand.columns; ++c)
      pairs.push_back(first[c] | first[operand.columns + c] << 8);
  }
  operand.data = std::move(pairs);
}

}  // namespace

PeOperand GatherPeOperand(const isa::Operand& operand, const std::optional<isa::Operand>& scale,
                          const Sbuf& sbuf, PeMode mode) {
  PeOperand result;
  result.rows = static_cast<int>(operand.partitions);
  result.columns = static_cast<int>(operand.free_size());
  result.data.resize(std::size_t{1} * result.rows * result.columns);
  Check(operand.rank >= 1, "a PE operand has a free dimension");
  const int bytes = SizeOf(operand.dtype);
  const std::span<const isa::Dim> dims = isa::FreeDims(operand);
  const isa::Lines lines = isa::StridedLines(dims);
  const int line = static_cast<int>(lines.count);
  const std::int64_t stride = lines.stride * bytes;
  std::uint32_t* words = result.data.data();
  for (int p = 0; p < result.rows; ++p) {
    const std::byte* row = sbuf.At(operand.partition + p, operand.offset, operand.span_bytes());
    isa::ForEachIndex(dims.first(lines.outer), [&](std::int64_t element) {
      const std::byte* from = row + element * bytes;
      if (bytes == 4)
        Spread<std::uint32_t>(from, stride, line, words);
      else if (bytes == 2)
        Spread<std::uint16_t>(from, stride, line, words);
      else
        Spread<std::uint8_t>(from, stride, line, words);
      words += line;
    });
  }
  if (mode == PeMode::kDoubleRow)
    PairRows(result);
  if (!scale)
    return result;
  Check(scale->contiguous_run() == scale->free_size() && scale->free_size() == result.columns,
        "an MX scale operand is dense and has one byte per x4 column");
  const int groups = kMxGroup.ScaleRows(result.rows);
  result.scales.resize(std::size_t{1} * groups * result.columns);
  for (int g = 0; g < groups; ++g) {
    const int partition = scale->partition + kMxGroup.ScaleRowPartition(g);
    std::memcpy(&result.scales[std::size_t{1} * g * result.columns],
                sbuf.At(partition, scale->offset, result.columns), result.columns);
  }
  return result;
}

int PsumAddressOf(const isa::Operand& dst) {
  Check(dst.memory == isa::Memory::kPsum, "a MultiplyMoving writes PSUM");
  Check(dst.partition == 0, "PE columns are PSUM partitions from 0");
  Check(dst.contiguous_run() == dst.free_size(), "a MultiplyMoving writes dense rows");
  return static_cast<int>(dst.offset / 2);
}

}  // namespace bwmm::ops
