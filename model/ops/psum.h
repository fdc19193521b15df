// What PSUM does with one row that leaves the PE array.
//
//   fp32 row:  overwrite, or RNE(psum + row)
//   bf16 row:  RNE to bf16, or widen, add in fp32, RNE to bf16 (at every accumulate)
//   transpose row: bits as they are
//
// A NaN that arithmetic makes is 0x7fc00000 in fp32 and 0x7fc0 in bf16.
#pragma once

#include <cstdint>

#include "model/numerics/dtype.h"

namespace bwmm::ops {

// fp32 bits of a + b, NaN made canonical.
std::uint32_t AddFp32(std::uint32_t a, std::uint32_t b);
// fp32 bits to bf16 bits.
std::uint16_t RoundBf16(std::uint32_t a);

struct PsumRowWrite {
  bool half = false;  // a 2-byte row: one half of each word
  int which = 0;      // 0 low half, 1 high half
  bool accumulate = false;
  bool transpose = false;  // bits as they are
};

// Applies one row of fp32 bits (or transposed bits) to `words`, one word per column.
void WritePsumRow(const PsumRowWrite& write, const std::uint32_t* row, int cols,
                  std::uint32_t* words);

}  // namespace bwmm::ops
