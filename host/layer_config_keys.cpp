// The keys of a layer's configuration: from text to the field each one sets.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "host/join.h"
#include "host/layer_config.h"
#include "model/support/setting.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

template <typename T>
void ParseNumber(T& target, std::string_view text, std::string_view key) {
  if (const Parsed parsed = ParseWhole(text, target); parsed != Parsed::kNumber) {
    const bool wide = parsed == Parsed::kOutOfRange;
    throw SimError("model.{}: '{}', {} is needed", key, text,
                   !std::is_integral_v<T> ? (wide ? "a number in range" : "a number")
                   : wide                 ? "an integer of 32 bits"
                                          : "an integer");
  }
}

void Parse(int& target, std::string_view text, std::string_view key) {
  ParseNumber(target, text, key);
}
void Parse(float& target, std::string_view text, std::string_view key) {
  ParseNumber(target, text, key);
}
void Parse(double& target, std::string_view text, std::string_view key) {
  ParseNumber(target, text, key);
}
void Parse(std::optional<float>& target, std::string_view text, std::string_view key) {
  target.reset();
  if (text != "none")
    ParseNumber(target.emplace(), text, key);
}
void Parse(bool& target, std::string_view text, std::string_view key) {
  if (text != "true" && text != "false")
    throw SimError("model.{}: '{}', allowed: true, false", key, text);
  target = text == "true";
}
void Parse(std::string& target, std::string_view text, std::string_view) {
  target = text;
}

template <typename Enum, std::size_t kCount>
void ParseName(Enum& target, const std::array<std::string_view, kCount>& names,
               std::string_view text, std::string_view key) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    throw SimError("model.{}: '{}', allowed: {}", key, text, Join(names));
  target = static_cast<Enum>(found - names.begin());
}
void Parse(WeightLayout& target, std::string_view text, std::string_view key) {
  ParseName(target, kWeightLayoutNames, text, key);
}
void Parse(AffinityScaling& target, std::string_view text, std::string_view key) {
  ParseName(target, kAffinityScalingNames, text, key);
}
void Parse(RouterKind& target, std::string_view text, std::string_view key) {
  ParseName(target, kRouterNames, text, key);
}
void Parse(Activation& target, std::string_view text, std::string_view key) {
  std::array<std::string_view, kActivations> names;
  for (int i = 0; i < kActivations; ++i)
    names[i] = NameOf(static_cast<Activation>(i));
  ParseName(target, names, text, key);
}

using Setter = std::function<void(LayerConfig&, std::string_view text, std::string_view key)>;

template <typename T>
Setter SetterOf(T LayerConfig::*field) {
  return [field](LayerConfig& config, std::string_view text, std::string_view key) {
    Parse(config.*field, text, key);
  };
}

struct Key {
  std::string_view key;
  Setter set;
};

const std::vector<Key>& Keys() {
  static const std::vector<Key> kKeys = {
      {"name", SetterOf(&LayerConfig::name)},
      {"hidden", SetterOf(&LayerConfig::hidden)},
      {"intermediate", SetterOf(&LayerConfig::intermediate)},
      {"experts", SetterOf(&LayerConfig::experts)},
      {"top_k", SetterOf(&LayerConfig::top_k)},
      {"activation", SetterOf(&LayerConfig::activation)},
      {"gate_up_bias", SetterOf(&LayerConfig::gate_up_bias)},
      {"down_bias", SetterOf(&LayerConfig::down_bias)},
      {"gate_clamp_upper", SetterOf(&LayerConfig::gate_clamp_upper)},
      {"gate_clamp_lower", SetterOf(&LayerConfig::gate_clamp_lower)},
      {"up_clamp_upper", SetterOf(&LayerConfig::up_clamp_upper)},
      {"up_clamp_lower", SetterOf(&LayerConfig::up_clamp_lower)},
      {"up_offset", SetterOf(&LayerConfig::up_offset)},
      {"weights", SetterOf(&LayerConfig::weights)},
      {"affinity_scaling", SetterOf(&LayerConfig::affinity_scaling)},
      {"router", SetterOf(&LayerConfig::router)},
      {"router_scale", SetterOf(&LayerConfig::router_scale)},
      {"router_groups", SetterOf(&LayerConfig::router_groups)},
      {"router_groups_kept", SetterOf(&LayerConfig::router_groups_kept)},
      {"routing_sigma", SetterOf(&LayerConfig::routing_sigma)},
      {"weights_file", SetterOf(&LayerConfig::weights_file)},
      {"hidden_file", SetterOf(&LayerConfig::hidden_file)},
  };
  return kKeys;
}

}  // namespace

void ApplySetting(LayerConfig& config, std::string_view key, std::string_view value) {
  const std::string prefix = fmt::format("{}.", kLayerConfigTable);
  const std::string_view name = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
  const Key& found = FindKey(Keys(), name, [&](const std::string& known) {
    throw SimError("unknown key '{}', allowed: {} followed by one of {}", key, prefix, known);
  });
  found.set(config, value, name);
}

}  // namespace bwmm::host
