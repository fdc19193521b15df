#include "host/layer_shape.h"

#include <algorithm>

namespace bwmm::host {
namespace {

int RoundUp(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

LayerShape ShapeOf(const LayerConfig& config, WeightLayout layout, int least_mx_tiles) {
  constexpr int kHiddenMultiple = kPackedRows;
  constexpr int kIntermediateMultiple = 16;
  const int intermediate = IsMx(layout) ? std::max(RoundUp(config.intermediate, kPackedRows),
                                                   least_mx_tiles * kPackedRows)
                                        : RoundUp(config.intermediate, kIntermediateMultiple);
  return {.experts = config.experts,
          .hidden = config.hidden,
          .intermediate = config.intermediate,
          .hidden_padded = RoundUp(config.hidden, kHiddenMultiple),
          .intermediate_padded = intermediate};
}

}  // namespace bwmm::host
