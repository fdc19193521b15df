// How deep the MX variants' buffers rotate: the deepest plan that fits SBUF.
#pragma once

#include "kernels/moe_cte/moe_cte.h"
#include "model/isa/sink.h"

namespace bwmm::kernels {

struct MxPlan {
  int gate_up = 2;        // blocks of gate/up weights
  int quantized = 2;      // blocks of quantised rows
  int gather_groups = 8;  // gathered groups of 32 tokens
};

// `tiles` I tiles of 512 per core; `row_bytes` per partition for what a variant keeps of its output
// rows. The smallest plan may still not fit: its allocation then says so.
MxPlan PlanMx(const isa::Limits& limits, const MoeCteArgs& args, std::int64_t tiles,
              std::int64_t row_bytes);

}  // namespace bwmm::kernels
