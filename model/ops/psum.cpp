#include "model/ops/psum.h"

#include <bit>

namespace bwmm::ops {

std::uint32_t AddFp32(std::uint32_t a, std::uint32_t b) {
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return sum == sum ? std::bit_cast<std::uint32_t>(sum) : 0x7fc00000U;
}

std::uint16_t RoundBf16(std::uint32_t a) {
  if ((a & 0x7fffffff) > 0x7f800000)
    return 0x7fc0;
  return static_cast<std::uint16_t>((a + 0x7fff + ((a >> 16) & 1)) >> 16);
}

void WritePsumRow(const PsumRowWrite& write, const std::uint32_t* row, int cols,
                  std::uint32_t* words) {
  if (!write.half) {
    for (int c = 0; c < cols; ++c)
      words[c] = write.accumulate ? AddFp32(words[c], row[c]) : row[c];
    return;
  }
  const int shift = 16 * write.which;
  const std::uint32_t keep = ~(0xffffU << shift);
  for (int c = 0; c < cols; ++c) {
    std::uint32_t half = row[c] & 0xffff;
    if (!write.transpose) {
      const std::uint32_t old = (words[c] >> shift) << 16;
      half = RoundBf16(write.accumulate ? AddFp32(old, row[c]) : row[c]);
    }
    words[c] = (words[c] & keep) | (half << shift);
  }
}

}  // namespace bwmm::ops
