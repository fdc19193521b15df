// An NVFP4 element: an e2m1 code times the e4m3fn scale of its group. The product has at most six
// significant bits and lies from 2^-10 to 2688, so bf16 holds it exactly; the tensor's fp32 scale
// is not part of it.
#pragma once

#include <cstdint>

#include "model/numerics/bf16.h"
#include "model/numerics/fp4.h"
#include "model/numerics/fp8.h"

namespace bwmm {

// Exact. NaN for a NaN scale; a negative scale turns the sign.
constexpr Bf16 Nvfp4Value(Fp4E2M1Fn code, Fp8E4M3Fn scale) {
  return Bf16::RoundFrom(code.ToFloat() * scale.ToFloat());
}

}  // namespace bwmm
