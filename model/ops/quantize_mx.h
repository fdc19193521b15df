// quantize_mx: bf16 or fp16 to fp8 x4 words, one E8M0 scale per scale group.
//
//              4 columns c .. c+3 of data
//            +------------------+
//   8 rows   |  one group,      |  amax --> scale X, one code per group
//            |  32 elements V   |  fp8(V / X), one RNE per element --> 8 words
//            +------------------+
//
// Where the scales land in SBUF is the instruction's business; here they are dense.
#pragma once

#include <cstdint>

#include "model/isa/scale_rule.h"
#include "model/numerics/dtype.h"

namespace bwmm::ops {

// `source` is bf16 or fp16, `target` e4m3fn x4 or e5m2 x4, `rows` whole groups.
// data is [rows][4 * columns], words [rows][columns], scales [groups of rows][columns].
void QuantizeMx(DType source, DType target, ScaleRule rule, const std::uint16_t* data, int rows,
                int columns, std::uint32_t* words, std::uint8_t* scales);

}  // namespace bwmm::ops
