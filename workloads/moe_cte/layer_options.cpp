#include "workloads/moe_cte/layer_options.h"

#include <algorithm>
#include <array>

#include "model/support/sim_error.h"
#include "workloads/moe_cte/what_fits.h"

namespace bwmm::workloads {
namespace {

using Variant = kernels::MoECTEImplementation;

// Of the model's keys: what only the generated routing reads, and what only tensor data shows.
constexpr std::array<std::string_view, 5> kRoutingKeys = {
    "model.router", "model.router_scale", "model.router_groups", "model.router_groups_kept",
    "model.routing_sigma"};
constexpr std::array<std::string_view, 3> kDataKeys = {"model.weights_file", "model.hidden_file",
                                                       "model.up_offset"};

template <typename List>
bool Contains(const List& list, std::string_view item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

host::LayerConfig ModelOf(const LayerRequest& request, const std::vector<KeyValue>& settings) {
  if (request.model.empty() == request.config.empty())
    throw SimError("give --model (a preset) or --config (a file), one of the two");
  host::LayerConfig model = request.model.empty() ? host::LoadLayerConfig(request.config)
                                                  : host::LayerPreset(request.model);
  for (const auto& [key, value] : settings) {
    if (key.starts_with("model."))
      host::ApplySetting(model, key, value);
  }
  host::ValidateLayerConfig(model);
  return model;
}

// A variant's kernel runs weights of one family; a model of the other one is converted, but a type
// named on the command line is a wish.
void CheckWeights(const KeyValue& setting, const LayerJobOptions& layer) {
  if (IsMx(layer.model.weights) != kernels::IsMx(layer.variant))
    throw SimError("--set {}={}: {} would convert it, allowed {}", setting.key, setting.value,
                   NameOf(layer.variant),
                   kernels::IsMx(layer.variant) ? "mxfp4, mxfp8_e4m3, mxfp8_e5m2" : "bf16, fp8");
}

void CheckSetting(const KeyValue& setting, const LayerRequest& request, const Setup& setup,
                  const LayerJobOptions& layer) {
  const auto refuse = [&](std::string_view why) {
    throw SimError("--set {}={}: changes nothing {}", setting.key, setting.value, why);
  };
  if (!request.routing.empty() && Contains(kRoutingKeys, setting.key))
    refuse("with --routing, which names experts and weights; allowed without it");
  if (!setup.with_data && Contains(kDataKeys, setting.key))
    refuse("in timing, which has no tensor data; allowed with rtl, fast");
  if (setting.key == "model.weights")
    CheckWeights(setting, layer);
}

// Whether anything of the run is drawn from the seed.
bool SomethingIsRandom(const LayerRequest& request, const Setup& setup,
                       const host::LayerConfig& model) {
  const bool data = setup.with_data && (model.weights_file.empty() || model.hidden_file.empty());
  return request.routing.empty() || data;
}

void CheckEffects(const LayerRequest& request, const Setup& setup, const LayerJobOptions& layer) {
  std::vector<std::string> keys;
  for (const KeyValue& setting : setup.settings) {
    CheckSetting(setting, request, setup, layer);
    keys.push_back(setting.key);
  }
  kernels::CheckKeys(keys, layer.kernel, layer.variant);
  if (layer.variant == Variant::shard_on_i_dropping && setup.given.contains("--block-size"))
    throw SimError(
        "--block-size {}: changes nothing in {}, whose blocks are an expert's capacity; allowed "
        "is kernel.capacity_factor",
        request.block_size, NameOf(layer.variant));
}

}  // namespace

LayerJobOptions LayerOptionsOf(const LayerRequest& request, const Setup& setup) {
  LayerJobOptions layer{.model = ModelOf(request, setup.settings),
                        .tokens = request.tokens,
                        .block_size = request.block_size,
                        .routing_csv = request.routing};
  if (SomethingIsRandom(request, setup, layer.model))
    layer.seed = setup.seed.Draw();
  for (const auto& [key, value] : setup.settings) {
    if (key.starts_with("kernel."))
      kernels::ApplySetting(layer.kernel, key, value);
  }
  if (request.variant.empty()) {
    const bool sized = setup.given.contains("--block-size");
    const VariantChoice choice =
        DefaultVariant(layer, setup.limits(), sized ? request.block_size : 0);
    layer.variant = choice.variant;
    layer.block_size = choice.block_size;
  } else {
    layer.variant = kernels::ParseImplementation(request.variant);
  }
  CheckEffects(request, setup, layer);
  return layer;
}

VariantChoice DefaultVariant(const LayerJobOptions& layer, const isa::Limits& limits,
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
    LayerJobOptions changed = layer;
    changed.variant = choice.variant;
    changed.block_size = choice.block_size;
    const Fit fit = FitOf(changed, limits);
    if (fit == Fit::kFits)
      return choice;
    // Only buffers are a reason to try another one.
    if (fit == Fit::kRefused)
      break;
  }
  return sized(kOrder[0]);
}

}  // namespace bwmm::workloads
