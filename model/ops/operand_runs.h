// An operand as dense runs of bytes, for whoever asks byte by byte: the checkers.
#pragma once

#include <cstdint>
#include <span>

#include "model/isa/operand.h"
#include "model/isa/pattern.h"

namespace bwmm::ops {

// Calls f(first byte, bytes) for each dense run. `pitch` bytes lie between two partitions: in HBM
// the operand's own, and first bytes are addresses; in SBUF and PSUM what a partition has, and they
// count from partition 0.
template <typename F>
void ForEachRun(const isa::Operand& operand, std::int64_t pitch, F f) {
  const int bytes = SizeOf(operand.dtype);
  const std::span<const isa::Dim> dims = isa::FreeDims(operand);
  const isa::Lines lines = isa::DenseLines(dims);
  for (std::int64_t p = 0; p < operand.partitions; ++p) {
    const std::int64_t base =
        (operand.partition + p) * pitch + static_cast<std::int64_t>(operand.offset);
    isa::ForEachIndex(dims.first(lines.outer), [&](std::int64_t element) {
      f(base + element * bytes, lines.count * bytes);
    });
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
