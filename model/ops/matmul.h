// What the PE array computes in ordinary mode: out[n][m] = sum over k of w[k][m] * x[k][n].
//
//   p = +0;  for k in 0..K-1:  p = fma(w[k], x[k], p)      one IEEE rounding to fp32 per row
//
// The order of k is the order of the PE rows and part of the contract; outputs are independent, so
// the loops run over them. Subnormals are kept, a NaN result is 0x7fc00000. Of fp32 operands one
// part each is multiplied: four such passes are a matmul.
#pragma once

#include <cstdint>

#include "model/ops/pe_decode.h"

namespace bwmm::ops {

void Matmul(PeFormat w_format, const std::uint32_t* w /*[k][m]*/, PeFormat x_format,
            const std::uint32_t* x /*[k][n]*/, int k, int m, int n, float* out /*[n][m]*/);

// double_row mode: an entry of w and x is two fp8 elements, the first lowest. A PE row multiplies
// the first and then the second.
void MatmulDoubleRow(DType w_type, const std::uint32_t* w /*[k][m]*/, DType x_type,
                     const std::uint32_t* x /*[k][n]*/, int k, int m, int n, float* out /*[n][m]*/);

}  // namespace bwmm::ops
