#include "model/ops/row_copy.h"

#include <cstring>
#include <numeric>

#include "model/support/check.h"

namespace bwmm::ops {
namespace {

// Byte offsets of consecutive runs of `run` elements, in row-major order.
std::vector<std::int64_t> RunOffsets(const isa::Operand& operand, std::int64_t run) {
  std::vector<std::int64_t> offsets(operand.free_size() / run);
  for (std::int64_t r = 0; r < std::ssize(offsets); ++r) {
    std::int64_t index = r * run;
    std::int64_t element = 0;
    for (int i = operand.rank - 1; i >= 0; --i) {
      element += index % operand.dims[i].size * operand.dims[i].stride;
      index /= operand.dims[i].size;
    }
    offsets[r] = element * SizeOf(operand.dtype);
  }
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
