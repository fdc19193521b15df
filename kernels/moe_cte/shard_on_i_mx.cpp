// bwmm_shard_on_I_mx: MX weights, each core owns half of I, every block is reduced across cores.
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

#include <algorithm>

#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/cross_core_rows.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/mx_expert.h"
#include "kernels/moe_cte/mx_hidden.h"
#include "kernels/moe_cte/mx_plan.h"
#include "kernels/moe_cte/mx_weights.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {

using lang::Engine;
using lang::View;

namespace {

class Kernel {
 public:
  Kernel(lang::Core& nki, const MoeCteArgs& args, std::int64_t tiles, const MxPlan& plan)
      : nki_(nki),
        args_(args),
        tokens_(nki, args, 3),
        hidden_(nki, args, plan.quantized, plan.gather_groups),
        weights_(nki, args, nki.program_id() * tiles, tiles, plan.gate_up, 1),
        expert_(nki, args, weights_),
        output_(nki, args, tokens_) {}

  void Run() {
    ZeroOutput(nki_, args_.output);
    const std::int64_t blocks = args_.blocks();
    if (blocks == 0)
      return;
    Load(0);
    weights_.LoadGateUp(0, tokens_.expert(0));
    weights_.LoadDown(0, tokens_.expert(0));
    hidden_.TransposeAndQuantize(0);  // (2)
    for (std::int64_t n = 0; n < blocks; ++n) {
      const bool more = n + 1 < blocks;
      if (more)
        Load(n + 1);
      ProjectGateUp(n);
      output_.Finish();  // of block n - 1
      if (more)
        weights_.LoadGateUp(n + 1, tokens_.expert(n + 1));
      ProjectDown(n);
      if (more) {
        weights_.LoadDown(n + 1, tokens_.expert(n + 1));
        hidden_.TransposeAndQuantize(n + 1);
      }
      output_.Exchange(n, weights_.down_bias(n));  // (6), (7)
    }
    output_.Finish();
  }

 private:
  void Load(std::int64_t n) {
    tokens_.Load(n, n);
    hidden_.Gather(n);  // (1)
  }

  void ProjectGateUp(std::int64_t n) {  // (3), (4)
    const std::int64_t steps = 1 + output_.steps() / expert_.sub_tiles();
    expert_.ProjectGateUp(n, hidden_, [&] { output_.Step(steps); });
  }

  void ProjectDown(std::int64_t n) {  // (5)
    int turn = 0;
    expert_.ProjectDown(n, [&](int t, std::int64_t h, const View& psum) {
      nki_.tensor_copy(output_.partial(t).Slice(1, h, MxExpert::kChunk), psum,
                       turn++ % 2 == 0 ? Engine::kScalar : Engine::kVector);
    });
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  BlockTokens tokens_;
  MxHidden hidden_;
  MxWeights weights_;
  MxExpert expert_;
  CrossCoreRows output_;
};

}  // namespace

void BwmmShardOnIMx(lang::Core& nki, const MoECTESpec&, const MoeCteArgs& args) {
  const std::int64_t tiles = args.intermediate() / 1024;
  // Besides the rotating buffers: partial, received and old rows.
  const std::int64_t rows = args.block_size / 128 * 2 * args.hidden() * 2;
  Kernel(nki, args, tiles, PlanMx(nki.limits(), args, tiles, rows)).Run();
}

}  // namespace bwmm::kernels
