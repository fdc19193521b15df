// What a PE sees of an operand: raw bits to the number they stand for, exactly.
//
// The decode here starts from bits on purpose and shares nothing with model/numerics, so that the
// two can check each other.
#pragma once

#include <bit>
#include <cstdint>

#include "model/numerics/dtype.h"

namespace bwmm::ops {

// Decodes elements of one type; made once per operand, because it is asked for every element.
class ElementDecoder {
 public:
  // bf16, fp16, fp8, or an x4 type.
  explicit ElementDecoder(DType type);

  // An ordinary operand. Inf and NaN come out as such.
  float Scalar(std::uint32_t raw) const {
    return values_ == nullptr ? std::bit_cast<float>(raw << 16) : values_[raw & mask_];
  }

  // Lane 0..3 of an x4 word. Exact in float, and the product of two is exact in double.
  float Lane(std::uint32_t raw, int lane) const { return values_[(raw >> (lane * bits_)) & mask_]; }

 private:
  const float* values_ = nullptr;  // of every code; bf16 needs none
  int bits_ = 16;
  std::uint32_t mask_ = 0xffff;
};

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
