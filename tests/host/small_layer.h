// A layer for tests of its tensors, with sizes that need padding, and all layouts of weights.
#pragma once

#include "host/layer_config.h"
#include "host/weight_layout.h"

namespace bwmm::host {

inline constexpr WeightLayout kLayouts[] = {WeightLayout::kBf16, WeightLayout::kFp8,
                                            WeightLayout::kMxfp4, WeightLayout::kMxfp8E4M3,
                                            WeightLayout::kMxfp8E5M2};

inline LayerConfig SmallConfig() {
  return {.name = "small",
          .hidden = 600,
          .intermediate = 700,
          .experts = 2,
          .top_k = 1,
          .gate_up_bias = true,
          .down_bias = true,
          .up_offset = 1};
}

}  // namespace bwmm::host
