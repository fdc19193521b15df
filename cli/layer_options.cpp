#include "cli/layer_options.h"

#include <algorithm>
#include <array>

#include "model/support/sim_error.h"
#include "workloads/what_fits.h"

namespace bwmm::cli {
namespace {

using Variant = kernels::MoECTEImplementation;
using Settings = std::vector<KeyValue>;

// Of the model's keys: what only the generated routing reads, and what only tensor data shows.
constexpr std::array<std::string_view, 5> kRoutingKeys = {
    "model.router", "model.router_scale", "model.router_groups", "model.router_groups_kept",
    "model.routing_sigma"};
constexpr std::array<std::string_view, 3> kDataKeys = {"model.weights_file", "model.hidden_file",
                                                       "model.up_offset"};

bool HasNoData(const LayerCommand& command) {
  return FidelityOf(command.common) == Fidelity::kTiming;
}

template <typename List>
bool Contains(const List& list, std::string_view item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

Settings SettingsOf(const LayerCommand& command) {
  Settings settings;
  for (const std::string& text : command.common.settings) {
    settings.push_back(SplitSetting(text));
    const std::string& key = settings.back().key;
    if (!key.starts_with("model.") && !key.starts_with("kernel.") && !key.starts_with("machine."))
      throw SimError("--set {}: keys begin with model., kernel. or machine.", text);
  }
  return settings;
}

host::LayerConfig ModelOf(const LayerCommand& command, const Settings& settings) {
  if (command.model.empty() == command.config.empty())
    throw SimError("give --model (a preset) or --config (a file), one of the two");
  host::LayerConfig model = command.model.empty() ? host::LoadLayerConfig(command.config)
                                                  : host::LayerPreset(command.model);
  for (const auto& [key, value] : settings) {
    if (key.starts_with("model."))
      host::ApplySetting(model, key, value);
  }
  host::ValidateLayerConfig(model);
  return model;
}

// A variant's kernel runs weights of one family; a model of the other one is converted, but a type
// named on the command line is a wish.
void CheckWeights(const KeyValue& setting, const workloads::LayerJobOptions& layer) {
  if (IsMx(layer.model.weights) != kernels::IsMx(layer.variant))
    throw SimError("--set {}={}: {} would convert it, allowed {}", setting.key, setting.value,
                   NameOf(layer.variant),
                   kernels::IsMx(layer.variant) ? "mxfp4, mxfp8_e4m3, mxfp8_e5m2" : "bf16, fp8");
}

void CheckSetting(const KeyValue& setting, const LayerCommand& command,
                  const workloads::LayerJobOptions& layer) {
  const auto refuse = [&](std::string_view why) {
    throw SimError("--set {}={}: changes nothing {}", setting.key, setting.value, why);
  };
  if (!command.routing.empty() && Contains(kRoutingKeys, setting.key))
    refuse("with --routing, which names experts and weights; allowed without it");
  if (HasNoData(command) && Contains(kDataKeys, setting.key))
    refuse("in timing, which has no tensor data; allowed with rtl, fast");
  if (setting.key == "model.weights")
    CheckWeights(setting, layer);
  if (command.sequential && setting.key.starts_with("machine.") && IsTimeOnly(setting.key))
    refuse("with --sequential, which has no time; allowed without it");
}

// Whether anything of the run is drawn from the seed.
bool SomethingIsRandom(const LayerCommand& command, const host::LayerConfig& model) {
  const bool data =
      !HasNoData(command) && (model.weights_file.empty() || model.hidden_file.empty());
  return command.routing.empty() || data;
}

void CheckEffects(const LayerCommand& command, const Settings& settings,
                  const workloads::LayerJobOptions& layer) {
  std::vector<std::string> keys;
  for (const KeyValue& setting : settings) {
    CheckSetting(setting, command, layer);
    keys.push_back(setting.key);
  }
  kernels::CheckKeys(keys, layer.kernel, layer.variant);
  if (layer.variant == Variant::shard_on_i_dropping && command.given.contains("--block-size"))
    throw SimError(
        "--block-size {}: changes nothing in {}, whose blocks are an expert's capacity; allowed "
        "is kernel.capacity_factor",
        command.block_size, NameOf(layer.variant));
  if (command.given.contains("--seed") && !SomethingIsRandom(command, layer.model))
    throw SimError("--seed {}: changes nothing, routing and tensors come from files",
                   command.common.seed);
}

}  // namespace

workloads::LayerJobOptions LayerOptionsOf(const LayerCommand& command,
                                          const MachineConfig& machine) {
  const Settings settings = SettingsOf(command);
  workloads::LayerJobOptions layer{.model = ModelOf(command, settings),
                                   .tokens = command.tokens,
                                   .block_size = command.block_size,
                                   .routing_csv = command.routing,
                                   .seed = command.common.seed};
  for (const auto& [key, value] : settings) {
    if (key.starts_with("kernel."))
      kernels::ApplySetting(layer.kernel, key, value);
  }
  if (command.variant.empty()) {
    const bool sized = command.given.contains("--block-size");
    const VariantChoice choice =
        DefaultVariant(layer, LimitsOf(machine), sized ? command.block_size : 0);
    layer.variant = choice.variant;
    layer.block_size = choice.block_size;
  } else {
    layer.variant = kernels::ParseImplementation(command.variant);
  }
  CheckEffects(command, settings, layer);
  return layer;
}

VariantChoice DefaultVariant(const workloads::LayerJobOptions& layer, const isa::Limits& limits,
                             int block_size) {
  constexpr VariantChoice kOrder[] = {
      {Variant::shard_on_i_mx, 256},     {Variant::shard_on_block_mx, 256},
      {Variant::shard_on_i, 256},        {Variant::shard_on_block, 256},
      {Variant::shard_on_block_mx, 128}, {Variant::shard_on_block, 128}};
  const auto sized = [&](VariantChoice choice) {
    return VariantChoice{choice.variant, block_size > 0 ? block_size : choice.block_size};
  };
  for (const VariantChoice& each : kOrder) {
    const VariantChoice choice = sized(each);
    workloads::LayerJobOptions changed = layer;
    changed.variant = choice.variant;
    changed.block_size = choice.block_size;
    const workloads::Fit fit = workloads::FitOf(changed, limits);
    if (fit == workloads::Fit::kFits)
      return choice;
    // Only buffers are a reason to try another one.
    if (fit == workloads::Fit::kRefused)
      break;
  }
  return sized(kOrder[0]);
}

}  // namespace bwmm::cli
