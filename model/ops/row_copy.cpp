#include "model/ops/row_copy.h"

#include <cstring>
#include <numeric>

#include "model/isa/pattern.h"
#include "model/support/check.h"

namespace bwmm::ops {
namespace {

// Byte offsets of consecutive runs of `run` elements, in row-major order.
std::vector<std::int64_t> RunOffsets(const isa::Operand& operand, std::int64_t run) {
  const std::span<const isa::Dim> dims = isa::FreeDims(operand);
  const isa::Lines lines = isa::DenseLines(dims);
  std::vector<std::int64_t> offsets;
  offsets.reserve(operand.free_size() / run);
  isa::ForEachIndex(dims.first(lines.outer), [&](std::int64_t element) {
    for (std::int64_t i = 0; i < lines.count; i += run)
      offsets.push_back((element + i) * SizeOf(operand.dtype));
  });
  return offsets;
}

}  // namespace

RowCopy::RowCopy(const isa::Operand& dst, const isa::Operand& src) {
  Check(SizeOf(dst.dtype) == SizeOf(src.dtype) && dst.free_size() == src.free_size(),
        "a row moves between patterns of one size");
  const std::int64_t run = std::gcd(src.contiguous_run(), dst.contiguous_run());
  run_bytes_ = run * SizeOf(src.dtype);
  dst_runs_ = RunOffsets(dst, run);
  src_runs_ = RunOffsets(src, run);
}

void RowCopy::operator()(std::byte* dst, const std::byte* src) const {
  for (std::size_t r = 0; r < src_runs_.size(); ++r)
    std::memmove(dst + dst_runs_[r], src + src_runs_[r], run_bytes_);
}

isa::Operand DenseRow(const isa::Operand& operand) {
  isa::Operand row = operand;
  row.rank = 1;
  row.dims[0] = {.size = operand.free_size(), .stride = 1};
  return row;
}

}  // namespace bwmm::ops
