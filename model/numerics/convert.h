// Bulk conversion between tensor elements and the fp32 values every engine computes with.
//
//   SBUF / PSUM / HBM bytes --Widen--> fp32 --(engine arithmetic)--> fp32 --RoundTo--> bytes
//
// The elements lie `stride_bytes` apart (negative and unaligned strides are fine) and must not
// overlap the fp32 buffer. x4 types are refused: their lanes are no elements.
#pragma once

#include <cstddef>

#include "model/numerics/dtype.h"

namespace bwmm {

// Exact for every type but int32, which rounds to nearest even. e8m0 counts as uint8 here: the code
// itself, not the power of two it stands for.
void Widen(DType type, const std::byte* source, std::ptrdiff_t stride_bytes, int count, float* out);

// Nearest even. Floats overflow to Inf (e4m3fn, which has none, to NaN) and NaN becomes the type's
// canonical NaN; int32, uint8 and e8m0 saturate and NaN becomes 0.
void RoundTo(DType type, const float* values, int count, std::byte* target,
             std::ptrdiff_t stride_bytes);

}  // namespace bwmm
