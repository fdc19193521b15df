// Everything about how a variant runs that is neither model nor machine, as key = value settings:
// the spec's sub-configs, skip_dma and accumulation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/moe_cte/spec.h"

namespace bwmm::kernels {

struct KernelOptions {
  ShardOnBlockConfig shard_on_block;
  ShardOnIConfig shard_on_I;
  SkipMode skip_dma;
  bool is_tensor_update_accumulating = true;
  bool integer_carriers = false;  // MX weights arrive as uint16 or uint32 tensors
  double capacity_factor = 1.0;   // shard_on_i_dropping: rows per expert over T k / E

  // The spec with the sub-config that concerns the implementation.
  MoECTESpec SpecFor(MoECTEImplementation implementation) const;
};

// One `--set kernel.<key>=<value>`; SimError listing the keys or the values allowed.
void ApplySetting(KernelOptions& options, std::string_view key, std::string_view value);

// A key and the variants whose program, tensors or layout depend on it.
struct OptionKey {
  std::string_view name;
  std::vector<MoECTEImplementation> variants;

  bool ConcernsVariant(MoECTEImplementation variant) const;
};
std::vector<OptionKey> OptionKeys();

// SimError if one of the given keys changes nothing in the variant, or nothing beside the others.
void CheckKeys(std::span<const std::string> given, const KernelOptions& options,
               MoECTEImplementation variant);

}  // namespace bwmm::kernels
