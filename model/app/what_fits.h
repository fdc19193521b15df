// The shape limits a refused layer would meet: what to change so that its buffers fit SBUF.
#pragma once

#include <string>

#include "model/app/layer_job.h"

namespace bwmm::app {

// "it fits with block size 128, or hidden up to 4096, or intermediate up to 1024", changing one
// dimension at a time.
std::string WhatWouldFit(const LayerJobOptions& options, const isa::Limits& limits);

}  // namespace bwmm::app
