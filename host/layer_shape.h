// The padded sizes of a layer and where each element lies in its weight tensors.
//
//   bf16, fp8   gate_up [E, H, 2, I]   down [E, I, H]   bias [E, 2, I] and [E, H]
//   MX          gate_up [E, 128, 2, H/512, I] x4 words   word (p, tile), lane w: h = w (H/4) + 128
//   tile + p
//               down    [E, 128, I/512, H] x4 words      word (p, tile), lane w: i = 512 tile + 128
//               w + p scales  the same with 16 rows for 128: one per 8 partitions x 4 lanes bias
//               [E, 128, 2, I/512, 4], i as in down, and [E, H]
//
// H is padded to a multiple of 512, I to one of 512 for MX and of 16 otherwise. The padding is zero
// everywhere, so it adds nothing to any result.
#pragma once

#include <cstdint>

#include "host/layer_config.h"
#include "model/numerics/scale_group.h"

namespace bwmm::host {

// The scale group of MX weights, under the names the packing uses.
inline constexpr int kPartitions = kTilePartitions;
inline constexpr int kLanes = kMxGroup.lanes;
inline constexpr int kPackedRows = kMxGroup.tile_elements();
inline constexpr int kGroupPartitions = kMxGroup.rows;
inline constexpr int kScaleRows = kMxGroup.tile_scale_rows();

struct LayerShape {
  int experts = 0;
  int hidden = 0;  // the model's H and I
  int intermediate = 0;
  int hidden_padded = 0;  // what the tensors have
  int intermediate_padded = 0;

  int hidden_tiles() const { return hidden_padded / kPackedRows; }
  int intermediate_tiles() const { return intermediate_padded / kPackedRows; }

  // Share of the padded weight elements that padding adds, 0 to 1: the same share of every
  // multiplication is spent on zeros.
  double padding_fraction() const {
    return 1.0 - static_cast<double>(hidden) * intermediate /
                     (static_cast<double>(hidden_padded) * intermediate_padded);
  }

  // Contraction index of lane w of the word at (partition, tile).
  int HiddenOf(int partition, int tile, int lane) const {
    return lane * (hidden_padded / kLanes) + tile * kPartitions + partition;
  }
  int IntermediateOf(int partition, int tile, int lane) const {
    return tile * kPackedRows + lane * kPartitions + partition;
  }

  // Element offsets of row (.., 0) of the MX tensors; a row is contiguous in its last index. The
  // scale of partition p is in row p / kGroupPartitions.
  std::int64_t GateUpRow(int rows, int expert, int row, int half, int tile) const {
    return (((std::int64_t{expert} * rows + row) * 2 + half) * hidden_tiles() + tile) *
           intermediate_padded;
  }
  std::int64_t DownRow(int rows, int expert, int row, int tile) const {
    return ((std::int64_t{expert} * rows + row) * intermediate_tiles() + tile) * hidden_padded;
  }
};

// `least_mx_tiles`: tiles of 512 of I that MX weights have at least, for as many cores to share.
LayerShape ShapeOf(const LayerConfig& config, WeightLayout layout, int least_mx_tiles = 1);

}  // namespace bwmm::host
