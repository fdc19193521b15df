// What the PE array computes in MX mode: x4 words, one E8M0 scale per 8 rows x 4 lanes.
//
//   p = +0;  for each group g of 8 rows:
//     S = sum of the 32 products, exact
//     p = RNE(p + RNE(S * 2^(w_scale - 127) * 2^(x_scale - 127)))      both to fp32
//
// A zero S gives +0. NaN if a scale is 0xff or an element is NaN, for Inf * 0 and Inf - Inf; every
// NaN result is 0x7fc00000. Sums are taken in double, which is exact for all pairs of E4M3 and
// E2M1; a group whose E5M2 elements span too many bits is summed in 128-bit integers instead.
#pragma once

#include <cstdint>

#include "model/numerics/dtype.h"

namespace bwmm::ops {

// `k` is a multiple of 8. Scales are one byte per group and column.
void MatmulMx(DType w_type, const std::uint32_t* w /*[k][m]*/,
              const std::uint8_t* w_scale /*[k/8][m]*/, DType x_type,
              const std::uint32_t* x /*[k][n]*/, const std::uint8_t* x_scale /*[k/8][n]*/, int k,
              int m, int n, float* out /*[n][m]*/);

}  // namespace bwmm::ops
