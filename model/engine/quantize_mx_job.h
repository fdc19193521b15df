// What both quantize_mx engines share: the job's limits and the unit's latency.
#pragma once

#include <cstdint>

#include "model/engine/quantize_mx_engine.h"

namespace bwmm::engine {

// Edges between a column going into rtl/mx/quantize_mx.sv and coming out.
constexpr std::uint64_t kQuantizeMxLatency = 3;

// Throws SimError for a job the unit cannot run.
void CheckQuantizeMxJob(const QuantizeMxJob& job);

}  // namespace bwmm::engine
