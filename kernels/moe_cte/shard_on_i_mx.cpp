// bwmm_shard_on_I_mx: MX weights, each core owns half of I, every block is reduced across cores.
// Of an odd number of tiles of 512, core 0 has one more.
//
// Per block n of B tokens, expert e, core c (its half of I in tiles of 512):
//   (1)  X   = hidden[ids]                      [B, H]     gather
//   (2)  Xq  = quantize_mx(X^T)                 [H, B]     PE transpose, then e4m3fn x4
//   (3)  G   = Wg[e]^T Xq,  U = Wu[e]^T Xq      [I/2, B]   bf16 PSUM, H/512 passes
//   (4)  A   = act(clamp(G + bg)) * clamp(U + bu)          bf16
//   (5)  Yc  = quantize_mx(A)^T Wd[e]           [B, H]     bf16 PSUM, this core's part of the sum
//   (6)  Y   = Y0 + Y1                          [B/2, H]   sendrecv of the peer's rows, bf16 add
//   (7)  out[ids] = out[ids] + p[ids, e] * (Y + bd)        this core's half of the rows, bf16
//
// Each core owns half of a block's 128-row tiles, so every output row is reduced once, and the down
// bias is added once, after the sum. A token may be owned by different cores in different blocks:
// the core_barrier on the output orders those updates. Loads of block n + 1 and its quantisation
// are emitted before (6) and (7) of block n, and those among (3) and (4) of block n + 1, so that
// they overlap.

#include "kernels/moe_cte/i_shard_blocks.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/mx_ffn.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {
namespace {

struct Kernel {
  Kernel(lang::Core& nki, const MoeCteArgs& args)
      : share(HalfShare(args, nki.program_id())),
        tokens(nki, args, 3),
        ffn(nki, args, tokens, share,
            // Besides the FFN's buffers: partial, received and old rows.
            PlanMx(nki.limits(), args, share, args.block_size / 128 * 2 * args.hidden() * 2)),
        output(nki, args, tokens, {.rounding = Rounding::kStepwise}),
        blocks(nki, args, ffn, output) {}

  MxShare share;
  BlockTokens tokens;
  MxFfn ffn;
  CrossCoreRows output;
  IShardBlocks blocks;
};

}  // namespace

void BwmmShardOnIMx(lang::Core& nki, const MoECTESpec&, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  Kernel(nki, args).blocks.RunStatic(args.blocks());
}

// The same with a static prefix, and a loop over the live blocks the device counts.
void BwmmShardOnIMxHybrid(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  Kernel kernel(nki, args);
  const std::int64_t prefix = StaticPrefix(
      args, spec.shard_on_I ? spec.shard_on_I->num_static_block : std::optional<int>());
  kernel.blocks.RunStatic(prefix);
  kernel.blocks.RunDynamic(prefix, *args.conditions);
}

}  // namespace bwmm::kernels
