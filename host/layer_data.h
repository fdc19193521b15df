// The tensors of one MoE layer, as HBM holds them: hidden rows, affinities, weights, scales,
// biases. Layouts: layer_shape.h. Seeded unless the configuration names files.
#pragma once

#include <cstdint>
#include <optional>

#include "host/host_tensor.h"
#include "host/layer_config.h"
#include "host/layer_shape.h"
#include "host/routing.h"

namespace bwmm::host {

struct LayerTensors {
  LayerShape shape;
  WeightLayout layout = WeightLayout::kBf16;
  int tokens = 0;

  HostTensor hidden;      // [T + 1, H] bf16, row T zero: what pad rows gather
  HostTensor affinities;  // [(T + 1) E, 1], (token, expert) row-major; fp32 for MX, else bf16
  HostTensor gate_up_weight;
  HostTensor down_weight;
  std::optional<HostTensor> gate_up_scale;  // MX: E8M0. fp8: fp32 [E, 1, 2 I], gate first
  std::optional<HostTensor> down_scale;     // MX: E8M0. fp8: fp32 [E, 1, H]
  std::optional<HostTensor> gate_up_bias;   // bf16, with up_offset added to the up half
  std::optional<HostTensor> down_bias;      // bf16 [E, H]

  std::int64_t weight_bytes() const;
};

// Everything of a layer. Without data the tensors have shapes only. Seeded values: hidden N(0, 1),
// weights N(0, 1 / fan-in), biases N(0, 1/16); real weights are rounded to bf16 or quantised to the
// layout (pack_weights.h). `least_mx_tiles` as in ShapeOf.
LayerTensors BuildLayer(const LayerConfig& config, const Routing& routing, WeightLayout layout,
                        std::uint64_t seed, bool with_data, int least_mx_tiles = 1);

}  // namespace bwmm::host
