// bwmm_shard_on_block_mx: MX weights, whole blocks go to any number C of cores.
//
// Per block n of B tokens, expert e, all on one core: as bwmm_shard_on_I_mx, (1) to (5) over all of
// I, then
//   (6)  plane_c[ids] = plane_c[ids] + p[ids, e] * (Y + bd)     bf16 after each operation
// Epilogue: core_barrier, plane 0 += the others, the others = 0; none on one core.
//
//   static part   blocks 0..S-1 in C contiguous shares, the larger ones on the last cores
//   dynamic part  trips n = S, S + C, ..: while conditions[n] is set on the device, core c takes
//                 block n + c, if that one is set too
//
// Each plane is a contiguous part of the output [C, rows, H].
//
// Files, in reading order:
//   moe_cte.h, spec          what a kernel is given
//   block_tokens             ids, expert and affinities of a block
//   expert_ffn.h, mx_ffn     (1) to (5), of which
//   mx_hidden                (1), (2)
//   mx_weights               the weights of (3) and (5), and which of them are padding
//   gated_activation         (4)
//   output_rows              (6), the planes and their sum

#include <algorithm>
#include <vector>

#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/mx_ffn.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

class Kernel {
 public:
  Kernel(lang::Core& nki, const MoeCteArgs& args, const View& plane, bool dynamic,
         const MxDepths& depths)
      : nki_(nki),
        args_(args),
        tokens_(nki, args, 3),
        output_(nki, args, tokens_, plane, Rounding::kStepwise),
        ffn_(nki, args, tokens_, WholeShare(args), depths) {
    if (!dynamic)
      return;
    flags_.Add(nki.Sbuf("conditions", DType::kInt32, 1, {args.conditions->shape[0]}));
    index_.Add(nki.Sbuf("block_index", DType::kInt32, 1, {2}));
  }

  void Run(std::int64_t static_blocks, bool dynamic_prefetch) {
    RunStatic(static_blocks);
    if (static_blocks < args_.blocks())
      RunDynamic(static_blocks, dynamic_prefetch);
  }

 private:
  void RunStatic(std::int64_t count) {
    const std::int64_t begin = count * nki_.program_id() / nki_.num_programs();
    const std::int64_t end = count * (nki_.program_id() + 1) / nki_.num_programs();
    if (begin == end)
      return;
    ffn_.LoadRows(0, {.number = begin});
    ffn_.LoadWeights(0);
    ffn_.Prepare(0);
    for (std::int64_t n = begin; n < end; ++n) {
      const bool more = n + 1 < end;
      const std::int64_t turn = turns_++;
      if (more)
        ffn_.LoadRows(turn + 1, {.number = n + 1});
      Compute(turn, more);
      if (more)
        ffn_.Prepare(turn + 1);
    }
  }

  void RunDynamic(std::int64_t first, bool prefetch) {
    const View& flags = flags_[0];
    nki_.dma_copy(flags, args_.conditions->Rows(flags.free_size()));
    const int core = nki_.program_id(), cores = nki_.num_programs();
    const auto live = [&](std::int64_t n) {
      return n < args_.blocks() && nki_.register_load(flags.Slice(1, n, 1)) != 0;
    };
    // Block numbers live on the device, two in turn, so that a prefetch can name the next one.
    const auto block = [&](std::int64_t n) {
      const View slot = index_[0].Slice(1, (n - first) / cores % 2, 1);
      nki_.memset(slot, static_cast<float>(n), Engine::kGpSimd);
      return BlockIndex{.number = n, .device = slot};
    };
    bool loaded = false;
    for (std::int64_t n = first; live(n); n += cores) {
      if (!live(n + core))
        break;
      const std::int64_t turn = turns_++;
      if (!loaded)
        ffn_.LoadRows(turn, block(n + core));
      ffn_.LoadWeights(turn);
      ffn_.Prepare(turn);
      loaded = prefetch && live(n + cores) && live(n + cores + core);
      if (loaded)
        ffn_.LoadRows(turn + 1, block(n + cores + core));
      Compute(turn, false);
    }
  }

  void Compute(std::int64_t turn, bool next) {
    output_.Begin(turn);
    ffn_.Compute(turn, next, {.result = [&](int t, std::int64_t h, const View& sum) {
                   output_.Add(turn, t, h, sum, ffn_.down_bias(turn));
                 }});
    output_.End(turn);
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  std::int64_t turns_ = 0;
  BlockTokens tokens_;
  PlaneRows output_;
  MxFfn ffn_;
  lang::RotatingTile flags_, index_;  // of the dynamic part: conditions, block numbers
};

// n_static_blocks if given, else N - n_dynamic_blocks; a dynamic count outside [0, N] means a
// static part of T / B blocks. The dynamic part takes the rest, whatever its parity.
std::int64_t StaticBlocks(const ShardOnBlockConfig& config, const MoeCteArgs& args) {
  const std::int64_t n = args.blocks();
  if (config.n_static_blocks >= 0)
    return std::min<std::int64_t>(config.n_static_blocks, n);
  if (config.n_dynamic_blocks >= 0 && config.n_dynamic_blocks <= n)
    return n - config.n_dynamic_blocks;
  return std::min<std::int64_t>(args.tokens() / args.block_size, n);
}

}  // namespace

void BwmmShardOnBlockMx(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  std::vector<View> planes;
  for (int core = 0; core < nki.num_programs(); ++core)
    planes.push_back(args.output.At({core}));
  const View& own = planes[nki.program_id()];
  ZeroRows(nki, own, 0, args.rows());
  const std::int64_t static_blocks = StaticBlocks(*spec.shard_on_block, args);
  const bool dynamic = static_blocks < args.blocks();
  const MxDepths depths = DeepestThatFit(nki, args, [&](lang::Core& trial, const MxDepths& given) {
    Kernel(trial, args, own, dynamic, given);
  });
  Kernel(nki, args, own, dynamic, depths).Run(static_blocks, spec.shard_on_block->dynamic_prefetch);
  ReduceOutputs(nki, args.output, planes);
}

}  // namespace bwmm::kernels
