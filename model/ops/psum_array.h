// PSUM storage for the sequential executor: word rows of all partitions, with the TensorEngine's
// overwrite and accumulate rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/numerics/dtype.h"
#include "model/ops/memory.h"

namespace bwmm::ops {

class PsumArray final : public PsumPort {
 public:
  static constexpr int kLanes = 128;

  explicit PsumArray(int words = 8 * 512) : words_(words), data_(std::size_t{1} * words * kLanes) {}

  void Read(int word, std::span<std::uint32_t> lanes) const override;
  void Write(int word, std::span<const std::uint32_t> lanes) override;

  // n rows of m columns from 2-byte unit `address`; out is [n][m].
  void Write(int address, DType dtype, bool accumulate, const float* out, int n, int m);
  // Row i of the result is column i of the identity times data [k][m]: element i of every column.
  void WriteTransposed(int address, DType dtype, const std::uint32_t* data, int k, int m);

 private:
  std::uint32_t* Row(int word);

  int words_;
  std::vector<std::uint32_t> data_;  // [words][lanes]
};

}  // namespace bwmm::ops
