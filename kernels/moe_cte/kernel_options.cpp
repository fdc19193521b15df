#include "kernels/moe_cte/kernel_options.h"

#include <charconv>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/support/sim_error.h"

namespace bwmm::kernels {
namespace {

bool Bool(std::string_view key, std::string_view value) {
  if (value == "true" || value == "1")
    return true;
  if (value == "false" || value == "0")
    return false;
  throw SimError("{}: {}, allowed true, false", key, value);
}

int Int(std::string_view key, std::string_view value) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    throw SimError("{}: {}, allowed an integer", key, value);
  return number;
}

using Setter = std::function<void(KernelOptions&, std::string_view, std::string_view)>;

const std::vector<std::pair<std::string_view, Setter>>& Setters() {
  static const std::vector<std::pair<std::string_view, Setter>> kSetters = {
      {"kernel.skip_token",
       [](auto& o, auto key, auto value) { o.skip_dma.skip_token = Bool(key, value); }},
      {"kernel.skip_weight",
       [](auto& o, auto key, auto value) { o.skip_dma.skip_weight = Bool(key, value); }},
      {"kernel.is_tensor_update_accumulating",
       [](auto& o, auto key, auto value) { o.is_tensor_update_accumulating = Bool(key, value); }},
      {"kernel.block_sharding_strategy",
       [](auto& o, auto key, auto value) {
         if (value != "ping_pong" && value != "hi_lo")
           throw SimError("{}: {}, allowed ping_pong, hi_lo", key, value);
         o.shard_on_block.block_sharding_strategy =
             value == "hi_lo" ? BlockShardStrategy::kHiLo : BlockShardStrategy::kPingPong;
       }},
      {"kernel.n_static_blocks",
       [](auto& o, auto key, auto value) { o.shard_on_block.n_static_blocks = Int(key, value); }},
      {"kernel.n_dynamic_blocks",
       [](auto& o, auto key, auto value) { o.shard_on_block.n_dynamic_blocks = Int(key, value); }},
      {"kernel.dynamic_prefetch",
       [](auto& o, auto key, auto value) { o.shard_on_block.dynamic_prefetch = Bool(key, value); }},
      {"kernel.checkpoint_activation",
       [](auto& o, auto key, auto value) {
         o.shard_on_I.checkpoint_activation = Bool(key, value);
       }},
      {"kernel.expert_affinity_multiply_on_I",
       [](auto& o, auto key, auto value) {
         o.shard_on_I.expert_affinity_multiply_on_I = Bool(key, value);
       }},
      {"kernel.num_static_block",
       [](auto& o, auto key, auto value) { o.shard_on_I.num_static_block = Int(key, value); }},
      {"kernel.integer_carriers",
       [](auto& o, auto key, auto value) { o.integer_carriers = Bool(key, value); }},
      {"kernel.capacity_factor",
       [](auto& o, auto key, auto value) {
         double factor = 0;
         const auto [end, error] =
             std::from_chars(value.data(), value.data() + value.size(), factor);
         if (error != std::errc() || end != value.data() + value.size() || !(factor > 0) ||
             factor > 1e6)
           throw SimError("{}: {}, allowed a number above 0", key, value);
         o.capacity_factor = factor;
       }},
  };
  return kSetters;
}

}  // namespace

MoECTESpec KernelOptions::SpecFor(MoECTEImplementation implementation) const {
  MoECTESpec spec(implementation);
  if (spec.shard_on_block)
    spec.shard_on_block = shard_on_block;
  if (spec.shard_on_I || implementation == MoECTEImplementation::shard_on_i_mx_hybrid)
    spec.shard_on_I = shard_on_I;
  return spec;
}

void ApplySetting(KernelOptions& options, std::string_view key, std::string_view value) {
  std::string known;
  for (const auto& [name, set] : Setters()) {
    if (name == key)
      return set(options, key, value);
    known.append(known.empty() ? "" : ", ").append(name);
  }
  throw SimError("unknown key {}, allowed {}", key, known);
}

}  // namespace bwmm::kernels
