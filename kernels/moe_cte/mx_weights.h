// MX weights of one expert for a range of I tiles: this core's half, or all of I. Gate and up
// columns of sub-tiles that are padding are not loaded.
//
// The expert is a value on the device. Words come by a DMA whose source address it offsets; E8M0
// scales, folded as 16 rows per expert in HBM, come by a gather into the quadrant layout: lane
// 32q + j (j < 4) reads row 16e + 4q + j, all other lanes are -1, out of bounds, and skipped.
//
// Frameworks without x4 types pass packed words as integers, and the kernel looks at the same bytes
// as x4 words; nothing is copied:
//
//   uint16, int16 --> float4_e2m1fn_x4
//   uint32, int32 --> float8_e4m3fn_x4, or float8_e5m2_x4 if weight_dtype says so
//
// The down weights are seen as the type of the gate/up weights, as nkilib's moe_cte does.
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"
#include "model/numerics/scale_group.h"

namespace bwmm::kernels {

// A core's part of I: tiles of 512, of which the first sub-tiles of 128 are not padding.
//
//   I = 704   | 0 .. 511                      | 512 .. 1023                   |
//   sub-tiles | lane 0, lane 1, lane 2, lane 3 | lane 0, lane 1, (zeros, zeros) |
struct MxShare {
  std::int64_t first = 0, tiles = 0;
  std::int64_t sub_tiles = kMxGroup.lanes * tiles;

  bool padded() const { return sub_tiles < kMxGroup.lanes * tiles; }
};
// All of I on one core.
MxShare WholeShare(const MoeCteArgs& args);
// One of two cores' tiles; of an odd number core 0 has one more. Padding is at the end of core 1's,
// which has no more to do than core 0 anyway: it counts as used.
MxShare HalfShare(const MoeCteArgs& args, int core);

// The arguments with weights in integer carriers seen as x4 words. SimError for a carrier of
// another width and for a weight_dtype that is no fp8 x4 type.
MoeCteArgs WithMxWeights(const MoeCteArgs& args);

class MxWeights {
 public:
  MxWeights(lang::Core& nki, const MoeCteArgs& args, const MxShare& share, int gate_up_depth,
            int down_depth);

  // A load may be emitted once the last use of its buffer has been: block - depth is done.
  // `weight_expert` is E, out of bounds, when the words and scales are there already (depth 1);
  // biases are always loaded.
  void LoadGateUp(std::int64_t block, const lang::View& weight_expert, const lang::View& expert);
  void LoadDown(std::int64_t block, const lang::View& weight_expert, const lang::View& expert);

  const lang::View& gate_up(std::int64_t block) const { return gate_up_[block]; }
  const lang::View& gate_up_scale(std::int64_t block) const { return gate_up_scale_[block]; }
  const lang::View& down(std::int64_t block) const { return down_[block]; }
  const lang::View& down_scale(std::int64_t block) const { return down_scale_[block]; }
  // [128, 1] of I sub-tile (tile, lane); nullopt without biases.
  std::optional<lang::View> gate_up_bias(std::int64_t block, int gate_or_up, std::int64_t tile,
                                         int lane) const;
  // [128, H], the same row in every partition; nullopt without a bias.
  std::optional<lang::View> down_bias(std::int64_t block) const;

  const MxShare& share() const { return share_; }
  std::int64_t tiles() const { return share_.tiles; }

 private:
  // The quadrant index vector of an expert's scale rows.
  const lang::View& ScaleIndex(const lang::RotatingTile& tiles, std::int64_t block,
                               const lang::View& expert);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  MxShare share_;
  lang::Tile scale_base_;  // [128, 1]: 4q + j, or -1
  lang::Tile scale_step_;  // [128, 1]: 16, or 0
  lang::RotatingTile gate_up_index_, down_index_, gate_up_, gate_up_scale_, down_, down_scale_,
      bias_, down_bias_;
};

}  // namespace bwmm::kernels
