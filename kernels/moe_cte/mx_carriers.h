// MX weights in integer carriers. Frameworks without x4 types pass packed words as integers, and
// the kernel looks at the same bytes as x4 words; nothing is copied:
//
//   uint16, int16 --> float4_e2m1fn_x4
//   uint32, int32 --> float8_e4m3fn_x4, or float8_e5m2_x4 if weight_dtype says so
//
// The down weights are seen as the type of the gate/up weights, as nkilib's moe_cte does.
#pragma once

#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

// SimError for a carrier of another width and for a weight_dtype that is no fp8 x4 type.
MoeCteArgs WithMxWeights(const MoeCteArgs& args);

}  // namespace bwmm::kernels
