// Quantising a scale group, step by step: the scale from the largest element, and one code per
// element. quantize_mx and the packing of weights on the host both work this way.
#pragma once

#include <cstdint>

#include "model/numerics/dtype.h"
#include "model/numerics/fp4.h"
#include "model/numerics/fp8.h"
#include "model/support/check.h"

namespace bwmm {

// floor(log2) of the largest element of an x4 type: 448, 57344, 6.
constexpr int LargestExponent(DType words) {
  switch (words) {
    case DType::kFp8E4M3FnX4:
      return 8;
    case DType::kFp8E5M2X4:
      return 15;
    case DType::kFp4E2M1FnX4:
      return 2;
    default:
      Check(false, "LargestExponent: an x4 type");
      return 0;
  }
}

// The code of one lane: nearest even, saturating.
constexpr std::uint8_t EncodeLane(DType words, float value) {
  switch (words) {
    case DType::kFp8E4M3FnX4:
      return Fp8E4M3Fn::RoundFrom(value, Saturate::kYes).bits();
    case DType::kFp8E5M2X4:
      return Fp8E5M2::RoundFrom(value, Saturate::kYes).bits();
    case DType::kFp4E2M1FnX4:
      return Fp4E2M1Fn::RoundFrom(value).bits();
    default:
      Check(false, "EncodeLane: an x4 type");
      return 0;
  }
}

}  // namespace bwmm
