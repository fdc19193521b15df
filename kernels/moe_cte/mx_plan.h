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

// A core's part of I: tiles of 512, of which the first sub-tiles of 128 are not padding.
//
//   I = 704   | 0 .. 511                      | 512 .. 1023                   |
//   sub-tiles | lane 0, lane 1, lane 2, lane 3 | lane 0, lane 1, (zeros, zeros) |
struct MxShare {
  std::int64_t first = 0, tiles = 0;
  std::int64_t sub_tiles = 4 * tiles;

  bool padded() const { return sub_tiles < 4 * tiles; }
};
// All of I on one core.
MxShare WholeShare(const MoeCteArgs& args);
// One of two cores' tiles; of an odd number core 0 has one more. Padding is at the end of core 1's,
// which has no more to do than core 0 anyway: it counts as used.
MxShare HalfShare(const MoeCteArgs& args, int core);

// `row_bytes` per partition for what a variant keeps of its output
// rows. The smallest plan may still not fit: its allocation then says so.
MxPlan PlanMx(const isa::Limits& limits, const MoeCteArgs& args, const MxShare& share,
              std::int64_t row_bytes);

}  // namespace bwmm::kernels
