// What a PE sees of an operand: raw bits to the number they stand for, exactly.
//
// The decode here starts from bits on purpose and shares nothing with model/numerics, so that the
// two can check each other.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "model/isa/pe_mode.h"
#include "model/numerics/dtype.h"

namespace bwmm::ops {

// A type as the PE array takes it.
struct PeFormat {
  PeFormat(DType type, std::optional<PePart> of_fp32 = std::nullopt) : dtype(type), part(of_fp32) {}

  DType dtype;
  std::optional<PePart> part;
};

// Decodes elements of one type; made once per operand, because it is asked for every element.
class ElementDecoder {
 public:
  // bf16, fp16, fp8, a part of fp32, or an x4 type.
  explicit ElementDecoder(PeFormat format);

  // An ordinary operand. Inf and NaN come out as such.
  float Scalar(std::uint32_t raw) const {
    if (part_)
      return PartOf(raw, *part_);
    return values_ == nullptr ? std::bit_cast<float>(raw << 16) : values_[raw & mask_];
  }

  // Lane 0..3 of an x4 word. Exact in float, and the product of two is exact in double.
  float Lane(std::uint32_t raw, int lane) const { return values_[(raw >> (lane * bits_)) & mask_]; }

 private:
  static float PartOf(std::uint32_t raw, PePart part);

  std::optional<PePart> part_;
  const float* values_ = nullptr;  // of every code; bf16 and fp32 need none
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
