#include "kernels/moe_cte/kernel_options.h"

#include <algorithm>

#include "model/support/setting.h"
#include "model/support/sim_error.h"

namespace bwmm::kernels {
namespace {

using Variants = std::vector<MoECTEImplementation>;
using enum MoECTEImplementation;

bool Bool(std::string_view key, std::string_view value) {
  if (value == "true" || value == "1")
    return true;
  if (value == "false" || value == "0")
    return false;
  throw SimError("{}: {}, allowed true, false, 1, 0", key, value);
}

template <typename Number>
Number Parse(std::string_view key, std::string_view value, Number low, Number high) {
  Number number{};
  if (ParseWhole(value, number) != Parsed::kNumber || !(number >= low && number <= high))
    throw SimError("{}: {}, allowed {} to {}", key, value, low, high);
  return number;
}

int Int(std::string_view key, std::string_view value, int low) {
  return Parse(key, value, low, 1 << 30);
}

struct Row {
  std::string_view key;
  Variants variants;
  void (*set)(KernelOptions& options, std::string_view key, std::string_view value);
};

const std::vector<Row>& Rows() {
  static const Variants kAll = {shard_on_block,      shard_on_i,        shard_on_i_hybrid,
                                shard_on_i_dropping, shard_on_block_mx, shard_on_i_mx,
                                shard_on_i_mx_hybrid};
  static const std::vector<Row> kRows = {
      {"kernel.skip_token", kAll,
       [](auto& o, auto key, auto value) { o.skip_dma.skip_token = Bool(key, value); }},
      {"kernel.skip_weight", kAll,
       [](auto& o, auto key, auto value) { o.skip_dma.skip_weight = Bool(key, value); }},
      {"kernel.is_tensor_update_accumulating",
       {shard_on_block, shard_on_i, shard_on_i_hybrid, shard_on_i_dropping, shard_on_i_mx,
        shard_on_i_mx_hybrid},
       [](auto& o, auto key, auto value) { o.is_tensor_update_accumulating = Bool(key, value); }},
      {"kernel.block_sharding_strategy",
       {shard_on_block},
       [](auto& o, auto key, auto value) {
         if (value != "ping_pong" && value != "hi_lo")
           throw SimError("{}: {}, allowed ping_pong, hi_lo", key, value);
         o.shard_on_block.block_sharding_strategy =
             value == "hi_lo" ? BlockShardStrategy::kHiLo : BlockShardStrategy::kPingPong;
       }},
      {"kernel.n_static_blocks",
       {shard_on_block_mx},
       [](auto& o, auto key, auto value) {
         o.shard_on_block.n_static_blocks = Int(key, value, -1);
       }},
      {"kernel.n_dynamic_blocks",
       {shard_on_block_mx},
       [](auto& o, auto key, auto value) {
         o.shard_on_block.n_dynamic_blocks = Int(key, value, -1);
       }},
      {"kernel.dynamic_prefetch",
       {shard_on_block_mx},
       [](auto& o, auto key, auto value) { o.shard_on_block.dynamic_prefetch = Bool(key, value); }},
      {"kernel.checkpoint_activation",
       {shard_on_i},
       [](auto& o, auto key, auto value) {
         o.shard_on_I.checkpoint_activation = Bool(key, value);
       }},
      {"kernel.expert_affinity_multiply_on_I",
       {shard_on_i, shard_on_i_hybrid, shard_on_i_dropping},
       [](auto& o, auto key, auto value) {
         o.shard_on_I.expert_affinity_multiply_on_I = Bool(key, value);
       }},
      {"kernel.num_static_block",
       {shard_on_i_hybrid, shard_on_i_mx_hybrid},
       [](auto& o, auto key, auto value) { o.shard_on_I.num_static_block = Int(key, value, 0); }},
      {"kernel.integer_carriers",
       {shard_on_block_mx, shard_on_i_mx, shard_on_i_mx_hybrid},
       [](auto& o, auto key, auto value) { o.integer_carriers = Bool(key, value); }},
      {"kernel.capacity_factor",
       {shard_on_i_dropping},
       [](auto& o, auto key, auto value) { o.capacity_factor = Parse(key, value, 1e-6, 1e6); }},
  };
  return kRows;
}

}  // namespace

MoECTESpec KernelOptions::SpecFor(MoECTEImplementation implementation) const {
  MoECTESpec spec(implementation);
  if (spec.shard_on_block)
    spec.shard_on_block = shard_on_block;
  if (spec.shard_on_I || implementation == shard_on_i_mx_hybrid)
    spec.shard_on_I = shard_on_I;
  return spec;
}

void ApplySetting(KernelOptions& options, std::string_view key, std::string_view value) {
  const Row& row = FindKey(Rows(), key, [&](const std::string& known) {
    throw SimError("unknown key {}, allowed {}", key, known);
  });
  row.set(options, key, value);
}

bool OptionKey::ConcernsVariant(MoECTEImplementation variant) const {
  return std::ranges::find(variants, variant) != variants.end();
}

std::vector<OptionKey> OptionKeys() {
  std::vector<OptionKey> keys;
  for (const Row& row : Rows())
    keys.push_back({row.key, row.variants});
  return keys;
}

void CheckKeys(std::span<const std::string> given, const KernelOptions& options,
               MoECTEImplementation variant) {
  for (const OptionKey& key : OptionKeys()) {
    if (std::ranges::find(given, key.name) == given.end() || key.ConcernsVariant(variant))
      continue;
    std::string allowed;
    for (const MoECTEImplementation each : key.variants)
      allowed.append(allowed.empty() ? "" : ", ").append(NameOf(each));
    throw SimError("{}: changes nothing in {}, allowed with {}", key.name, NameOf(variant),
                   allowed);
  }
  constexpr std::string_view kDynamic = "kernel.n_dynamic_blocks";
  if (std::ranges::find(given, kDynamic) != given.end() &&
      options.shard_on_block.n_static_blocks >= 0)
    throw SimError("{}: changes nothing beside kernel.n_static_blocks={}, allowed with -1 there",
                   kDynamic, options.shard_on_block.n_static_blocks);
}

}  // namespace bwmm::kernels
