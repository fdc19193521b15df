// The output tensor's side of every variant: zero it, add a block's rows to it, sum two planes.
#pragma once

#include "kernels/lang/core.h"

namespace bwmm::kernels {

// Rows [begin, end) of `plane` [rows, H] set to zero, 128 rows per DMA.
void ZeroRows(lang::Core& nki, const lang::View& plane, std::int64_t begin, std::int64_t end);

// Zeroes output [rows, H], half of the rows on each core, and lets both pass when it is done: a row
// may be written by either core in the first block.
void ZeroOutput(lang::Core& nki, const lang::HbmTensor& output);

// core_barrier, then plane0 = plane0 + plane1 and plane1 = 0 over all rows: core 0 takes the first
// half of the 128-row tiles (rounded down), core 1 the rest. The planes [rows, H] are views of
// `output`.
void ReduceOutputs(lang::Core& nki, const lang::HbmTensor& output, const lang::View& plane0,
                   const lang::View& plane1);

}  // namespace bwmm::kernels
