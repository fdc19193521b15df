#include "model/ops/psum_array.h"

#include <algorithm>
#include <bit>

#include "model/ops/psum.h"
#include "model/support/check.h"

namespace bwmm::ops {

std::uint32_t* PsumArray::Row(int word) {
  Check(word >= 0 && word < words_, "a PSUM row is inside its partition");
  return &data_[std::size_t{1} * word * kLanes];
}

void PsumArray::Read(int word, std::span<std::uint32_t> lanes) const {
  Check(word >= 0 && word < words_, "a PSUM row is inside its partition");
  std::copy_n(&data_[std::size_t{1} * word * kLanes], lanes.size(), lanes.begin());
}

void PsumArray::Write(int word, std::span<const std::uint32_t> lanes) {
  std::copy(lanes.begin(), lanes.end(), Row(word));
}

void PsumArray::Write(int address, DType dtype, bool accumulate, const float* out, int n, int m) {
  const bool half = SizeOf(dtype) == 2;
  std::vector<std::uint32_t> row(m);
  for (int i = 0; i < n; ++i) {
    const int unit = address + (half ? i : 2 * i);
    for (int c = 0; c < m; ++c)
      row[c] = std::bit_cast<std::uint32_t>(out[std::size_t{1} * i * m + c]);
    WritePsumRow({.half = half, .which = unit % 2, .accumulate = accumulate}, row.data(), m,
                 Row(unit / 2));
  }
}

void PsumArray::WriteTransposed(int address, DType dtype, const std::uint32_t* data, int k, int m) {
  const bool half = SizeOf(dtype) == 2;
  for (int i = 0; i < k; ++i) {
    const int unit = address + (half ? i : 2 * i);
    WritePsumRow({.half = half, .which = unit % 2, .transpose = true},
                 data + std::size_t{1} * i * m, m, Row(unit / 2));
  }
}

}  // namespace bwmm::ops
