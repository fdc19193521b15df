#include "kernels/inputs/layer_shape.h"

namespace bwmm::inputs {
namespace {

int RoundUp(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

LayerShape ShapeOf(const LayerConfig& config, WeightLayout layout) {
  constexpr int kHiddenMultiple = kPackedRows;
  constexpr int kMxIntermediateMultiple = 2 * kPackedRows;
  constexpr int kIntermediateMultiple = 16;
  return {.experts = config.experts,
          .hidden = config.hidden,
          .intermediate = config.intermediate,
          .hidden_padded = RoundUp(config.hidden, kHiddenMultiple),
          .intermediate_padded = RoundUp(
              config.intermediate, IsMx(layout) ? kMxIntermediateMultiple : kIntermediateMultiple)};
}

}  // namespace bwmm::inputs
