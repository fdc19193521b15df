// MoECTESpec: which bwmm variant runs and how. Names, members and defaults are nkilib moe_cte's
// (documented at the 2.29 release); units and shapes of the tensors are in moe_cte.h.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace bwmm::kernels {

enum class MoECTEImplementation {
  shard_on_block = 0,
  shard_on_i = 1,
  shard_on_i_hybrid = 2,
  shard_on_i_dropping = 3,
  shard_on_block_mx = 4,
  shard_on_i_mx = 5,
  shard_on_i_mx_hybrid = 6,
};

inline constexpr std::array<std::string_view, 7> kImplementationNames = {
    "shard_on_block",    "shard_on_i",    "shard_on_i_hybrid",   "shard_on_i_dropping",
    "shard_on_block_mx", "shard_on_i_mx", "shard_on_i_mx_hybrid"};

constexpr std::string_view NameOf(MoECTEImplementation implementation) {
  return kImplementationNames[static_cast<int>(implementation)];
}

// A name or its number; SimError listing the names for anything else.
MoECTEImplementation ParseImplementation(std::string_view name);

constexpr bool IsMx(MoECTEImplementation implementation) {
  return static_cast<int>(implementation) >= 4;
}

// A static prefix of the blocks, then those the device counts.
constexpr bool IsHybrid(MoECTEImplementation implementation) {
  return implementation == MoECTEImplementation::shard_on_i_hybrid ||
         implementation == MoECTEImplementation::shard_on_i_mx_hybrid;
}

// How blocks go to cores. PING_PONG: even blocks to core 0, odd ones to core 1.
enum class BlockShardStrategy { kPingPong, kHiLo };

enum class AffinityScalingMode { kPreScale, kPostScale, kNoScale };

struct SkipMode {
  bool skip_token = false;   // padding ids are -1 and their rows are not moved
  bool skip_weight = false;  // weights of a repeated expert are not loaded again
};

struct ShardOnBlockConfig {  // shard_on_block and shard_on_block_mx
  BlockShardStrategy block_sharding_strategy = BlockShardStrategy::kPingPong;
  int n_static_blocks = -1;  // -1: from N and E
  int n_dynamic_blocks = 55;
  bool dynamic_prefetch = false;  // shard_on_block_mx: load the next dynamic block's rows early
};

struct ShardOnIConfig {  // the shard_on_i family
  bool checkpoint_activation = false;
  bool expert_affinity_multiply_on_I = false;
  std::optional<int> num_static_block;  // nullopt: N - E
};

struct MoECTESpec {
  explicit MoECTESpec(MoECTEImplementation implementation);

  MoECTEImplementation implementation;
  // The one that concerns the implementation is filled with its defaults.
  std::optional<ShardOnBlockConfig> shard_on_block;
  std::optional<ShardOnIConfig> shard_on_I;
};

}  // namespace bwmm::kernels
