// Operands and tensors for hand-written test programs.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "model/isa/instruction.h"
#include "model/ops/memory.h"

namespace bwmm::test {

using isa::Engine;
using isa::Memory;
using isa::Operand;

inline Operand Tile(Memory memory, DType dtype, std::uint64_t offset, std::int64_t partitions,
                    std::int64_t free, int partition = 0) {
  Operand operand{.memory = memory,
                  .dtype = dtype,
                  .partition = partition,
                  .partitions = partitions,
                  .offset = offset,
                  .rank = 1};
  operand.dims[0] = {.size = free, .stride = 1};
  return operand;
}
inline Operand SbufTile(DType dtype, std::uint64_t offset, std::int64_t partitions,
                        std::int64_t free, int partition = 0) {
  return Tile(Memory::kSbuf, dtype, offset, partitions, free, partition);
}
inline Operand PsumTile(DType dtype, std::uint64_t offset, std::int64_t partitions,
                        std::int64_t free) {
  return Tile(Memory::kPsum, dtype, offset, partitions, free);
}
// Rows [first, first + rows) of a two-dimensional tensor.
inline Operand Rows(const ops::HbmTensor& tensor, std::int64_t first, std::int64_t rows) {
  const std::int64_t columns = tensor.shape.at(1);
  Operand operand = Tile(Memory::kHbm, tensor.dtype, 0, rows, columns);
  operand.partition_stride = columns;
  operand.offset =
      tensor.address + static_cast<std::uint64_t>(first * columns * SizeOf(tensor.dtype));
  return operand;
}

// Finite bf16 values of moderate size.
inline void FillBf16(ops::HbmTensor& tensor, std::mt19937& random) {
  for (std::size_t i = 0; i + 1 < tensor.data.size(); i += 2) {
    const std::uint16_t bits =
        static_cast<std::uint16_t>((random() & 0x807f) | ((120 + random() % 8) << 7));
    std::memcpy(&tensor.data[i], &bits, sizeof bits);
  }
}
inline void FillInt32(ops::HbmTensor& tensor, const std::vector<std::int32_t>& values) {
  std::memcpy(tensor.data.data(), values.data(), values.size() * sizeof(std::int32_t));
}

}  // namespace bwmm::test
