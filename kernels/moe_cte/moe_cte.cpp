#include "kernels/moe_cte/moe_cte.h"

#include "model/support/sim_error.h"

namespace bwmm::kernels {
namespace {

template <typename... Args>
void Require(bool holds, const MoECTESpec& spec, fmt::format_string<Args...> format,
             Args&&... args) {
  if (!holds) {
    throw SimError("{}: {}", NameOf(spec.implementation),
                   fmt::format(format, std::forward<Args>(args)...));
  }
}

void CheckCommon(const MoECTESpec& spec, const MoeCteArgs& args, const isa::Limits& limits) {
  Require(limits.cores == 2, spec, "runs on 2 cores, the machine has {}", limits.cores);
  Require(!args.skip_dma.skip_token && !args.skip_dma.skip_weight, spec,
          "skip_dma is not there yet; run without it");
  Require(args.is_tensor_update_accumulating, spec,
          "is_tensor_update_accumulating=false is not there yet; use true");
  Require(args.block_size % 128 == 0 && args.block_size >= 128 && args.block_size <= 1024, spec,
          "block size {}, allowed multiples of 128 from 128 to 1024", args.block_size);
  Require(args.hidden() % 512 == 0, spec, "hidden {}, allowed multiples of 512", args.hidden());
  Require(args.token_position_to_id.shape[0] == args.blocks() * args.block_size, spec,
          "token_position_to_id has {} entries, {} blocks of {} need {}",
          args.token_position_to_id.shape[0], args.blocks(), args.block_size,
          args.blocks() * args.block_size);
}

void CheckShardOnIMx(const MoECTESpec& spec, const MoeCteArgs& args, const isa::Limits& limits) {
  Require(limits.generation >= 4, spec,
          "MX needs generation 4 (trn3), this machine is generation {}; use shard_on_block",
          limits.generation);
  Require(args.block_size % 256 == 0, spec, "block size {}, allowed multiples of 256",
          args.block_size);
  Require(args.intermediate() % 1024 == 0, spec, "intermediate {}, allowed multiples of 1024",
          args.intermediate());
  Require(IsX4(args.gate_up_proj_weight.dtype) &&
              args.gate_up_proj_weight.dtype == args.down_proj_weight.dtype,
          spec, "weights are {} and {}, allowed one x4 type for both",
          NameOf(args.gate_up_proj_weight.dtype), NameOf(args.down_proj_weight.dtype));
  Require(args.gate_up_proj_scale && args.down_proj_scale, spec, "weight scales are missing");
  Require(args.expert_affinities_scaling_mode != AffinityScalingMode::kPreScale, spec,
          "PRE_SCALE is not there yet; use POST_SCALE or NO_SCALE");
}

void CheckShardOnBlock(const MoECTESpec& spec, const MoeCteArgs& args) {
  const ShardOnBlockConfig config = spec.shard_on_block.value_or(ShardOnBlockConfig{});
  Require(config.block_sharding_strategy == BlockShardStrategy::kPingPong, spec,
          "HI_LO is not there yet; use PING_PONG");
  Require(
      args.gate_up_proj_weight.dtype == DType::kBf16 && args.down_proj_weight.dtype == DType::kBf16,
      spec, "weights are {} and {}; only bfloat16 is there yet",
      NameOf(args.gate_up_proj_weight.dtype), NameOf(args.down_proj_weight.dtype));
  Require(args.intermediate() % 16 == 0, spec, "intermediate {}, allowed multiples of 16",
          args.intermediate());
  Require(args.block_size <= 512, spec, "block size {}, allowed up to 512", args.block_size);
}

}  // namespace

void CheckMoeCte(const MoECTESpec& spec, const MoeCteArgs& args, const isa::Limits& limits) {
  switch (spec.implementation) {
    case MoECTEImplementation::shard_on_block:
      CheckCommon(spec, args, limits);
      CheckShardOnBlock(spec, args);
      return;
    case MoECTEImplementation::shard_on_i_mx:
      CheckCommon(spec, args, limits);
      CheckShardOnIMx(spec, args, limits);
      return;
    default:
      Require(false, spec, "not there yet; what works: {}, {}",
              NameOf(MoECTEImplementation::shard_on_block),
              NameOf(MoECTEImplementation::shard_on_i_mx));
  }
}

void MoeCte(isa::Sink& sink, const MoECTESpec& spec, const MoeCteArgs& args) {
  CheckMoeCte(spec, args, sink.limits());
  lang::Core nki(sink);
  if (spec.implementation == MoECTEImplementation::shard_on_block)
    BwmmShardOnBlock(nki, spec, args);
  else
    BwmmShardOnIMx(nki, spec, args);
}

}  // namespace bwmm::kernels
