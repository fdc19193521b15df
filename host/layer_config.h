// What one MoE layer is: shape, options and router of a model. Presets are TOML texts built into
// the binary (host/presets); a user's file has the same keys under [model].
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing.h"
#include "host/weight_layout.h"
#include "model/isa/activation.h"

namespace bwmm::host {

enum class AffinityScaling : std::uint8_t { kNoScale, kPostScale, kPreScale };

inline constexpr std::array<std::string_view, 3> kAffinityScalingNames = {"no_scale", "post_scale",
                                                                          "pre_scale"};

constexpr std::string_view NameOf(AffinityScaling scaling) {
  return kAffinityScalingNames[static_cast<std::size_t>(scaling)];
}

struct LayerConfig {
  std::string name = "unnamed";
  int hidden = 0;        // H
  int intermediate = 0;  // I of one expert
  int experts = 0;       // E
  int top_k = 0;

  Activation activation = Activation::kSilu;
  bool gate_up_bias = false;
  bool down_bias = false;
  // min(upper) and max(lower) on gate and up after their bias; each is exact in bf16.
  std::optional<float> gate_clamp_upper = {};
  std::optional<float> gate_clamp_lower = {};
  std::optional<float> up_clamp_upper = {};
  std::optional<float> up_clamp_lower = {};
  // Added to the up bias when tensors are built. GPT-OSS multiplies by (clamp(up, -7, 7) + 1),
  // which is clamp(up + 1, -6, 8): an offset of 1 and limits moved by 1.
  float up_offset = 0;

  WeightLayout weights = WeightLayout::kBf16;
  AffinityScaling affinity_scaling = AffinityScaling::kPostScale;
  RouterKind router = RouterKind::kSoftmaxRenorm;
  double router_scale = 1;
  int router_groups = 1;
  int router_groups_kept = 1;
  double routing_sigma = 0.43;

  // Real tensors instead of seeded ones; relative to the file that names them.
  std::string weights_file = {};  // a llama2.c .bin or a .safetensors with gate, up and down
  std::string hidden_file = {};   // .npy or .safetensors of [.., H]

  RoutingOptions RoutingFor(int tokens, std::uint64_t seed) const;
};

// The table of a TOML text, and what a setting's key begins with: model.hidden.
inline constexpr std::string_view kLayerConfigTable = "model";

std::vector<std::string> LayerPresetNames();
LayerConfig LayerPreset(std::string_view name);
LayerConfig LoadLayerConfig(const std::filesystem::path& path);

// One `--set model.<key>=<value>`. The result is validated by ValidateLayerConfig only, so that
// several settings may pass through a state that is not valid.
void ApplySetting(LayerConfig& config, std::string_view key, std::string_view value);

// Ranges and combinations; the loaders call it themselves.
void ValidateLayerConfig(const LayerConfig& config);

}  // namespace bwmm::host
