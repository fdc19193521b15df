#include "host/layer_config.h"

#include <toml++/toml.h>

#include <cmath>
#include <span>
#include <utility>

#include "host/file_io.h"
#include "host/join.h"
#include "model/numerics/bf16.h"
#include "model/support/sim_error.h"

namespace bwmm {
// Defined in the build tree: stem and text of presets/*.toml.
std::span<const std::pair<std::string_view, std::string_view>> LayerPresetTexts();
}  // namespace bwmm

namespace bwmm::host {
namespace {

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
    if (key.str() != kLayerConfigTable || !node.is_table())
      throw SimError("{}: '{}', only the table [{}] is known", origin, key.str(),
                     kLayerConfigTable);
  }
  const toml::table* model = table[kLayerConfigTable].as_table();
  if (model == nullptr)
    throw SimError("{}: no table [{}]", origin, kLayerConfigTable);
  LayerConfig config;
  for (const auto& [key, node] : *model) {
    try {
      ApplySetting(config, fmt::format("{}.{}", kLayerConfigTable, key.str()),
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

}  // namespace bwmm::host
