#include "kernels/moe_cte/mx_plan.h"

#include "kernels/moe_cte/mx_weights.h"

namespace bwmm::kernels {

MxShare WholeShare(const MoeCteArgs& args) {
  MxShare share{.tiles = args.intermediate() / 512};
  // Clamps can make something of a padded zero, which then counts in the scale of its block.
  const ClampLimits& clamp = args.clamp;
  const bool stays_zero = clamp.up_lower.value_or(0) <= 0 && clamp.up_upper.value_or(0) >= 0;
  if (args.used_intermediate && stays_zero)
    share.sub_tiles = (*args.used_intermediate + 127) / 128;
  return share;
}

MxShare HalfShare(const MoeCteArgs& args, int core) {
  const std::int64_t all = args.intermediate() / 512;
  const std::int64_t half = (all + 1) / 2;
  return core == 0 ? MxShare{.tiles = half} : MxShare{.first = half, .tiles = all - half};
}

MxPlan PlanMx(const isa::Limits& limits, const MoeCteArgs& args, const MxShare& share,
              std::int64_t row_bytes) {
  const std::int64_t tiles = share.tiles;
  const std::int64_t h = args.hidden();
  const std::int64_t b = args.block_size;
  const std::int64_t lanes = 2 * (h / 4) * 2;  // hidden_lanes
  const std::int64_t intermediate = (share.padded() ? 3 : 2) * b * 4 * 2 + tiles * b * 5;
  const std::int64_t middle = 10 * b;  // gate, up, activated
  const std::int64_t biases = args.down_bias ? 2 * h * 2 : 0;
  const std::int64_t control = 4096;  // ids, indices, small biases
  const std::int64_t fixed = lanes + intermediate + middle + biases + control + row_bytes +
                             MxWeights::DownBytes(args, tiles);
  for (const MxPlan plan : {MxPlan{2, 2, 8}, MxPlan{1, 2, 8}, MxPlan{1, 1, 4}}) {
    const std::int64_t bytes = fixed + plan.gate_up * MxWeights::GateUpBytes(args, tiles) +
                               plan.quantized * (h / 512) * b * 5 + plan.gather_groups * h / 2;
    // A skipped load needs the words in the buffer they were in.
    const bool skips = args.skip_dma.skip_weight && plan.gate_up > 1;
    if (bytes <= limits.sbuf_bytes && !skips)
      return plan;
  }
  return {.gate_up = 1, .quantized = 1, .gather_groups = 2};
}

}  // namespace bwmm::kernels
