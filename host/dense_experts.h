// Expert weights as a model file holds them: plain floats, one matrix per projection.
#pragma once

#include <filesystem>
#include <vector>

#include "host/host_tensor.h"
#include "host/layer_config.h"

namespace bwmm::host {

// Row-major; empty where a layer has no such bias.
struct ExpertBiases {
  std::vector<float> gate = {};  // [E, I]
  std::vector<float> up = {};    // [E, I]
  std::vector<float> down = {};  // [E, H]
};

// Rows are output channels, as in the checkpoints: y = W x.
struct DenseExperts {
  std::vector<float> gate = {};  // [E, I, H]
  std::vector<float> up = {};    // [E, I, H]
  std::vector<float> down = {};  // [E, H, I]
  ExpertBiases biases = {};
};

// Reads a llama2.c checkpoint (.bin), whose layers become experts, or a .safetensors file with
// gate_proj [E, I, H], up_proj [E, I, H], down_proj [E, H, I] and, when the configuration has
// biases, gate_bias [E, I], up_bias [E, I], down_bias [E, H] in fp32, fp16, bf16 or fp8. The shapes
// must be the configuration's.
DenseExperts LoadDenseExperts(const std::filesystem::path& path, const LayerConfig& config);

// The elements of an fp32, fp16, bf16 or fp8 tensor as floats.
std::vector<float> ToFloats(const HostTensor& tensor);

}  // namespace bwmm::host
