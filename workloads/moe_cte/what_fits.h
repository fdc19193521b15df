// Whether a layer's buffers fit, and what to change so that they do.
#pragma once

#include <string>

#include "workloads/moe_cte/layer_job.h"

namespace bwmm::workloads {

// A dry run of the kernel with one token: buffers do not depend on the number of blocks.
Fit FitOf(const LayerJobOptions& options, const isa::Limits& limits);

// "it fits with block size 128, or hidden up to 4096, or intermediate up to 1024", changing one
// dimension at a time.
std::string WhatWouldFit(const LayerJobOptions& options, const isa::Limits& limits);

}  // namespace bwmm::workloads
