// An operand as dense runs of bytes, for whoever asks byte by byte: the checkers.
#pragma once

#include <array>
#include <cstdint>

#include "model/isa/operand.h"

namespace bwmm::ops {

// Calls f(first byte, bytes) for each dense run. `pitch` bytes lie between two partitions: in HBM
// the operand's own, and first bytes are addresses; in SBUF and PSUM what a partition has, and they
// count from partition 0.
template <typename F>
void ForEachRun(const isa::Operand& operand, std::int64_t pitch, F f) {
  const int bytes = SizeOf(operand.dtype);
  int outer = operand.rank;
  std::int64_t run = 1;
  while (outer > 0 && (operand.dims[outer - 1].size == 1 || operand.dims[outer - 1].stride == run))
    run *= operand.dims[--outer].size;
  std::int64_t runs = 1;
  for (int i = 0; i < outer; ++i)
    runs *= operand.dims[i].size;
  for (std::int64_t p = 0; p < operand.partitions; ++p) {
    const std::int64_t base =
        (operand.partition + p) * pitch + static_cast<std::int64_t>(operand.offset);
    std::array<std::int64_t, isa::Operand::kMaxRank> index{};
    for (std::int64_t r = 0; r < runs; ++r) {
      std::int64_t element = 0;
      for (int i = 0; i < outer; ++i)
        element += index[i] * operand.dims[i].stride;
      f(base + element * bytes, run * bytes);
      for (int i = outer - 1; i >= 0 && ++index[i] == operand.dims[i].size; --i)
        index[i] = 0;
    }
  }
}

// The same for an operand in HBM, rows that follow each other joined.
template <typename F>
void ForEachHbmRun(const isa::Operand& operand, F f) {
  const std::int64_t pitch = operand.partition_stride * SizeOf(operand.dtype);
  const std::int64_t row = operand.free_size() * SizeOf(operand.dtype);
  if (operand.contiguous_run() == operand.free_size() && (operand.partitions == 1 || pitch == row))
    f(static_cast<std::int64_t>(operand.offset), row * operand.partitions);
  else
    ForEachRun(operand, pitch, f);
}

}  // namespace bwmm::ops
