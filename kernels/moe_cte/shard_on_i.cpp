// The bf16/fp8 I-shard variants: each of C cores owns an equal share of I, every block is reduced
// across cores.
//
// Per block n of B tokens, expert e, core c:
//   (1)  X   = hidden[ids]                      [B, H]     gather, on all cores
//   (2)  Xt  = X^T                              [H, B]     PE transpose
//   (3)  G   = Wg[e]^T Xt,  U = Wu[e]^T Xt      [I/C, B]   fp32 PSUM
//   (4)  A   = act(clamp(G + bg)) * clamp(U + bu)          fp32, then bf16 (* p on I)
//   (5)  Yc  = A^T Wd[e]                        [B, H]     fp32 PSUM, then bf16
//   (6)  Y   = Y0 + Y1 + ..                     [B/C, H]   sendrecv of the peers' rows, bf16 adds
//   (7)  out[ids] = p[ids, e] * (Y + bd) + out[ids]        fused in fp32, then bf16
//
//   shard_on_i           all blocks, counted by the kernel
//   shard_on_i_hybrid    a static prefix, then the live blocks the device counts
//   shard_on_i_dropping  block n is expert n, its whole capacity; checkpoints always

#include "kernels/moe_cte/dense_ffn.h"
#include "kernels/moe_cte/i_shard_blocks.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {
namespace {

struct Kernel {
  Kernel(lang::Core& nki, const MoeCteArgs& args, const ShardOnIConfig& config, bool checkpoint,
         bool expert_is_block)
      : tokens(nki, args, 3, expert_is_block),
        output(nki, args, tokens,
               {.rounding = Rounding::kFused,
                .affinity_on_I = config.expert_affinity_multiply_on_I,
                .checkpoint = Checkpoint(checkpoint && !config.expert_affinity_multiply_on_I,
                                         args.down_activations)}),
        ffn(nki, args, tokens, nki.program_id() * (args.intermediate() / nki.num_programs()),
            args.intermediate() / nki.num_programs(),
            {.hidden_depth = 2,
             .affinity_on_I = config.expert_affinity_multiply_on_I,
             .checkpoint = Checkpoint(checkpoint, args.gate_up_activations_T)}),
        blocks(nki, args, ffn, output) {}

  static const lang::HbmTensor* Checkpoint(bool wanted,
                                           const std::optional<lang::HbmTensor>& tensor) {
    return wanted ? &tensor.value() : nullptr;
  }

  BlockTokens tokens;
  CrossCoreRows output;
  DenseFfn ffn;
  IShardBlocks blocks;
};

}  // namespace

void BwmmShardOnI(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  const ShardOnIConfig& config = *spec.shard_on_I;
  Kernel(nki, args, config, config.checkpoint_activation, false).blocks.RunStatic(args.blocks());
}

void BwmmShardOnIHybrid(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  Kernel kernel(nki, args, *spec.shard_on_I, false, false);
  const std::int64_t prefix = StaticPrefix(args, spec.shard_on_I->num_static_block);
  kernel.blocks.RunStatic(prefix);
  kernel.blocks.RunDynamic(prefix, *args.conditions);
}

void BwmmShardOnIDropping(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  Kernel(nki, args, *spec.shard_on_I, true, true).blocks.RunStatic(args.blocks());
}

}  // namespace bwmm::kernels
