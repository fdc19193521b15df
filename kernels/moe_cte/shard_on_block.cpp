// bwmm_shard_on_block: bf16 or fp8 weights; whole blocks go to any number of cores, in turn
// (PING_PONG) or in contiguous shares, the first cores having one block more (HI_LO).
//
// Per block n of B tokens, expert e, all on one core:
//   (1)  X  = hidden[ids]                       [B, H]   gather
//   (2)  Xt = X^T                               [H, B]   PE transpose
//   (3)  G  = Wg[e]^T Xt,  U = Wu[e]^T Xt       [I, B]   fp32 PSUM
//   (4)  A  = act(clamp(G + bg)) * clamp(U + bu)         fp32, then bf16
//   (5)  Y  = A^T Wd[e]  (+ bd)                 [B, H]   fp32
//   (6)  plane_c[ids] = p[ids, e] * Y + plane_c[ids]     one fused fp32 operation, then bf16
// Epilogue: core_barrier, plane 0 += the others, the others = 0. Without accumulation (top-1), and
// on one core, there is one plane and no epilogue.
//
// Blocks run in groups of three: loads and transposes of a group first, then its matmuls. Loads of
// group g + 1 are emitted before the matmuls of group g, which they overlap.
//
// Files, in reading order:
//   moe_cte.h, spec                         what a kernel is given
//   block_tokens                            ids, expert and affinities of a block
//   expert_ffn.h, dense_ffn                 (1) to (5), of which
//   dense_hidden                            (1), (2)
//   dense_weights                           the weights of (3) and (5), in chunks of I that fit
//   gated_activation                        (4)
//   output_rows                             (6), the planes and their sum

#include <algorithm>
#include <vector>

#include "kernels/moe_cte/dense_ffn.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {

using lang::View;

namespace {

constexpr int kBlockParallelFactor = 3;

class Kernel {
 public:
  Kernel(lang::Core& nki, const MoeCteArgs& args, BlockShardStrategy strategy, const View& plane)
      : nki_(nki),
        args_(args),
        strategy_(strategy),
        owned_(BlocksOf(nki.program_id())),
        tokens_(nki, args, 2 * kBlockParallelFactor),
        output_(nki, args, tokens_, plane, Rounding::kFused),
        ffn_(nki, args, tokens_, 0, args.intermediate(), {.hidden_depth = kBlockParallelFactor}) {}

  void Run() {
    if (owned_ > 0) {
      LoadGroup(0);
      ffn_.LoadWeights(0);
      PrepareGroup(0);
    }
    for (std::int64_t first = 0; first < owned_; first += kBlockParallelFactor) {
      LoadGroup(first + kBlockParallelFactor);
      for (std::int64_t i = first; i < GroupEnd(first); ++i)
        Compute(i);
      PrepareGroup(first + kBlockParallelFactor);
    }
  }

 private:
  std::int64_t BlocksOf(int core) const {
    return args_.blocks() / nki_.num_programs() + (core < args_.blocks() % nki_.num_programs());
  }
  // Turns are counted per core.
  std::int64_t BlockOf(std::int64_t turn) const {
    if (strategy_ == BlockShardStrategy::kPingPong)
      return nki_.num_programs() * turn + nki_.program_id();
    for (int core = 0; core < nki_.program_id(); ++core)
      turn += BlocksOf(core);
    return turn;
  }
  std::int64_t GroupEnd(std::int64_t first) const {
    return std::min(first + kBlockParallelFactor, owned_);
  }

  void LoadGroup(std::int64_t first) {  // (1)
    for (std::int64_t i = first; i < GroupEnd(first); ++i)
      ffn_.LoadRows(i, {.number = BlockOf(i)});
  }
  void PrepareGroup(std::int64_t first) {  // (2)
    for (std::int64_t i = first; i < GroupEnd(first); ++i)
      ffn_.Prepare(i);
  }
  void Compute(std::int64_t i) {
    output_.Begin(i);
    ffn_.Compute(i, i + 1 < owned_,  // (3), (4), (5)
                 {.result = [&](int t, std::int64_t h, const View& sum) {
                   output_.Add(i, t, h, sum, ffn_.down_bias(i));  // (6)
                 }});
    output_.End(i);
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  BlockShardStrategy strategy_;
  std::int64_t owned_;  // blocks of this core
  BlockTokens tokens_;
  PlaneRows output_;
  DenseFfn ffn_;
};

}  // namespace

void BwmmShardOnBlock(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  const BlockShardStrategy strategy = spec.shard_on_block->block_sharding_strategy;
  if (!args.is_tensor_update_accumulating) {
    ZeroOutput(nki, args.output);
    Kernel(nki, args, strategy, args.output.At()).Run();
    return;
  }
  std::vector<View> planes;
  for (int core = 0; core < nki.num_programs(); ++core)
    planes.push_back(args.output.At().Pick(1, core));
  const View& own = planes[nki.program_id()];
  ZeroRows(nki, own, 0, args.rows());
  Kernel(nki, args, strategy, own).Run();
  ReduceOutputs(nki, args.output, planes);
}

}  // namespace bwmm::kernels
