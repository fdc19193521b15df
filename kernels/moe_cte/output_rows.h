// The output tensor's side of every variant: zero it, add a block's rows to it, sum the planes.
#pragma once

#include <vector>

#include "kernels/lang/core.h"

namespace bwmm::kernels {

// Rows [begin, end) of `plane` [rows, H] set to zero, 128 rows per DMA.
void ZeroRows(lang::Core& nki, const lang::View& plane, std::int64_t begin, std::int64_t end);

// Zeroes output [rows, H], an equal share of the rows on each core, and lets all pass when it is
// done: a row may be written by any core in the first block.
void ZeroOutput(lang::Core& nki, const lang::HbmTensor& output);

// core_barrier, then planes[0] = planes[0] + planes[1] + .. in the order of the cores (fp32,
// rounded once) and the others = 0, over all rows: of C cores, core c takes 128-row tiles from c /
// C of them (rounded down) on. The planes [rows, H], one per core, are views of `output`; one is a
// sum already.
void ReduceOutputs(lang::Core& nki, const lang::HbmTensor& output,
                   const std::vector<lang::View>& planes);

}  // namespace bwmm::kernels
