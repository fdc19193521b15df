#include "kernels/inputs/layer_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <span>
#include <sstream>
#include <utility>

#include "kernels/inputs/file_io.h"
#include "kernels/inputs/join.h"
#include "model/numerics/bf16.h"
#include "model/support/sim_error.h"

namespace bwmm {
// Defined in the build tree: stem and text of presets/*.toml.
std::span<const std::pair<std::string_view, std::string_view>> LayerPresetTexts();
}  // namespace bwmm

namespace bwmm::inputs {
namespace {

constexpr std::string_view kTable = "model";

template <typename T>
void ParseNumber(T& target, std::string_view text, std::string_view key) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    const bool wide = error == std::errc::result_out_of_range;
    throw SimError("model.{}: '{}', {} is needed", key, text,
                   !std::is_integral_v<T> ? (wide ? "a number in range" : "a number")
                   : wide                 ? "an integer of 32 bits"
                                          : "an integer");
  }
  target = value;
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
  constexpr int kCount = static_cast<int>(Activation::kExp) + 1;
  std::array<std::string_view, kCount> names;
  for (int i = 0; i < kCount; ++i)
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

const std::vector<std::pair<std::string_view, Setter>>& Keys() {
  static const std::vector<std::pair<std::string_view, Setter>> kKeys = {
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

std::string TextOfNode(const toml::node& node, const std::string& place) {
  if (const auto text = node.value_exact<std::string>())
    return *text;
  if (const auto integer = node.value_exact<std::int64_t>())
    return std::to_string(*integer);
  if (const auto real = node.value_exact<double>())
    return fmt::format("{}", *real);
  if (const auto boolean = node.value_exact<bool>())
    return *boolean ? "true" : "false";
  throw SimError("{}: a text, a number or a truth value is needed", place);
}

LayerConfig ParseConfig(std::string_view text, const std::string& origin) try {
  const toml::table table = toml::parse(text, origin);
  for (const auto& [key, node] : table) {
    if (key.str() != kTable || !node.is_table())
      throw SimError("{}: '{}', only the table [{}] is known", origin, key.str(), kTable);
  }
  const toml::table* model = table[kTable].as_table();
  if (model == nullptr)
    throw SimError("{}: no table [{}]", origin, kTable);
  LayerConfig config;
  for (const auto& [key, node] : *model) {
    try {
      ApplySetting(config, fmt::format("{}.{}", kTable, key.str()),
                   TextOfNode(node, std::string(key.str())));
    } catch (const SimError& error) {
      throw SimError("{}:{}: {}", origin, node.source().begin.line, error.what());
    }
  }
  try {
    ValidateLayerConfig(config);
  } catch (const SimError& error) {
    throw SimError("{}: {}", origin, error.what());
  }
  return config;
} catch (const toml::parse_error& error) {
  throw SimError("{}:{}: {}", origin, error.source().begin.line, error.description());
}

void CheckRange(std::string_view key, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw SimError("model.{}: {}, allowed {} to {}", key, value, low, high);
}

void CheckLimits(std::string_view what, std::optional<float> lower, std::optional<float> upper) {
  for (const auto& limit : {lower, upper}) {
    if (limit && !(std::isfinite(*limit) && Bf16::RoundFrom(*limit).ToFloat() == *limit))
      throw SimError("model.{}_clamp: limit {}, a finite bf16 value is needed", what, *limit);
  }
  if (lower && upper && *lower > *upper)
    throw SimError("model.{}_clamp: lower limit {} is above upper limit {}", what, *lower, *upper);
}

}  // namespace

void ApplySetting(LayerConfig& config, std::string_view key, std::string_view value) {
  const std::string prefix = fmt::format("{}.", kTable);
  const std::string_view name = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
  std::string allowed;
  for (const auto& [known, set] : Keys()) {
    if (known == name) {
      set(config, value, name);
      return;
    }
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", known);
  }
  throw SimError("unknown key '{}', allowed: {} followed by one of {}", key, prefix, allowed);
}

void ValidateLayerConfig(const LayerConfig& c) {
  constexpr int kMaxExtent = 1 << 16;
  CheckRange("hidden", c.hidden, 1, kMaxExtent);
  CheckRange("intermediate", c.intermediate, 1, kMaxExtent);
  CheckRange("experts", c.experts, 1, 512);
  CheckRange("top_k", c.top_k, 1, c.experts);
  CheckRange("router_groups", c.router_groups, 1, c.experts);
  CheckRange("router_groups_kept", c.router_groups_kept, 1, c.router_groups);
  CheckLimits("gate", c.gate_clamp_lower, c.gate_clamp_upper);
  CheckLimits("up", c.up_clamp_lower, c.up_clamp_upper);
  if (c.experts % c.router_groups != 0 ||
      c.experts / c.router_groups * c.router_groups_kept < c.top_k) {
    throw SimError("model.router_groups: {} of {} groups of {} experts cannot hold top_k {}",
                   c.router_groups_kept, c.router_groups, c.experts, c.top_k);
  }
  // The weights are fp32.
  if (!(c.router_scale >= 1e-30 && c.router_scale <= 1e30))
    throw SimError("model.router_scale: {}, allowed 1e-30 to 1e+30", c.router_scale);
  if (!(c.routing_sigma >= 0 && c.routing_sigma <= 10))
    throw SimError("model.routing_sigma: {}, allowed 0 to 10", c.routing_sigma);
  if (c.up_offset != 0 && !c.gate_up_bias)
    throw SimError("model.up_offset: {} needs gate_up_bias = true to be folded into", c.up_offset);
  if (!std::isfinite(c.up_offset))
    throw SimError("model.up_offset: {}, a finite number is needed", c.up_offset);
}

RoutingOptions LayerConfig::RoutingFor(int tokens, std::uint64_t seed) const {
  return {.tokens = tokens,
          .experts = experts,
          .top_k = top_k,
          .sigma = routing_sigma,
          .router = router,
          .scale = router_scale,
          .groups = router_groups,
          .groups_kept = router_groups_kept,
          .seed = seed};
}

std::vector<std::string> LayerPresetNames() {
  std::vector<std::string> names;
  for (const auto& [name, text] : LayerPresetTexts())
    names.emplace_back(name);
  return names;
}

LayerConfig LayerPreset(std::string_view name) {
  for (const auto& [known, text] : LayerPresetTexts()) {
    if (known == name)
      return ParseConfig(text, std::string(name));
  }
  throw SimError("unknown model '{}', allowed: {}", name, Join(LayerPresetNames()));
}

LayerConfig LoadLayerConfig(const std::filesystem::path& path) {
  const std::vector<std::byte> file = ReadFile(path);
  LayerConfig config = ParseConfig(TextOf(file), path.string());
  for (std::string* named : {&config.weights_file, &config.hidden_file}) {
    if (!named->empty())
      *named = (path.parent_path() / *named).string();
  }
  return config;
}

}  // namespace bwmm::inputs
