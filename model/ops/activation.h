// The functions of the `activation` instruction, with the same bits on every host.
//
//   fp32 x --> double: fma, mul, add, div, bit operations --> one RNE to fp32
//
// Evaluated in double, a function is the correctly rounded one to within 2^-20 of an fp32 ulp.
// docs/numerics.md holds the algorithm, the limits at +-Inf and the measured error.
#pragma once

#include "model/isa/activation.h"

namespace bwmm::ops {

// NaN gives 0x7fc00000. Subnormal inputs and results are kept.
float Activate(Activation function, float x);

// The same bits as the scalar form. `in` and `out` are the same buffer or do not overlap.
void Activate(Activation function, const float* in, int count, float* out);

}  // namespace bwmm::ops
