// What a PE sees of an operand: raw bits to the number they stand for, exactly.
//
// The decode here starts from bits on purpose and shares nothing with model/numerics, so that the
// two can check each other.
#pragma once

#include <cstdint>

#include "model/numerics/dtype.h"

namespace bwmm::ops {

// An ordinary operand (bf16, fp16, fp8). Inf and NaN come out as such.
float DecodeScalar(DType type, std::uint32_t raw);

// Lane 0..3 of an x4 word. Every value is exact in float, and every product of two in double.
float DecodeLane(DType type, std::uint32_t raw, int lane);

// 2^(code - 127); NaN for 0xff.
double DecodeScale(std::uint8_t code);

// Bits between the top of the largest and the last place of the smallest nonzero finite element
// seen: the sum of products of 32 pairs is exact in double if both spans and 5 add up to at
// most 53.
class ElementSpan {
 public:
  void Add(float element);
  int bits() const { return high_ < low_ ? 0 : high_ - low_ + 1; }

 private:
  int high_ = -1000;
  int low_ = 1000;
};

}  // namespace bwmm::ops
