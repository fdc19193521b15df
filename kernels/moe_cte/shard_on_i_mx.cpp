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

#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/cross_core_rows.h"
#include "kernels/moe_cte/gated_activation.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/mx_hidden.h"
#include "kernels/moe_cte/mx_weights.h"
#include "kernels/moe_cte/output_rows.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr std::int64_t kBank = 512;  // moving columns of one down projection matmul

// How deep each buffer rotates; the deepest that fits.
struct BufferPlan {
  int gate_up = 2;
  int quantized = 2;
  int gather_groups = 8;
};

BufferPlan PlanBuffers(const MoeCteArgs& args, std::int64_t sbuf_bytes) {
  const std::int64_t h = args.hidden();
  const std::int64_t b = args.block_size;
  const int tiles = args.block_size / 128;
  // Working set per partition besides the rotating buffers: lanes, intermediate, block rows,
  // received and old rows, biases and index tiles.
  const std::int64_t fixed = 2 * (h / 4) * 2 + 2 * b * 4 * 2 + args.intermediate() / 1024 * b * 5 +
                             2 * tiles * h * 2 + (args.down_bias ? 2 * h * 2 : 0) + 10 * b + 4096 +
                             MxWeights::DownBytes(args);
  for (const BufferPlan plan : {BufferPlan{2, 2, 8}, BufferPlan{1, 2, 8}, BufferPlan{1, 1, 4}}) {
    const std::int64_t bytes = fixed + plan.gate_up * MxWeights::GateUpBytes(args) +
                               plan.quantized * (h / 512) * b * 5 + plan.gather_groups * h / 2;
    if (bytes <= sbuf_bytes)
      return plan;
  }
  return {.gate_up = 1, .quantized = 1, .gather_groups = 2};
}

class Kernel {
 public:
  Kernel(lang::Core& nki, const MoeCteArgs& args, const BufferPlan& plan)
      : nki_(nki),
        args_(args),
        i_tiles_(args.intermediate() / 1024),
        h_tiles_(args.hidden() / 512),
        tokens_(nki, args, 3),
        hidden_(nki, args, plan.quantized, plan.gather_groups),
        weights_(nki, args, plan.gate_up, 1),
        middle_(nki, args, DType::kBf16, args.block_size),
        output_(nki, args, tokens_),
        steps_per_sub_tile_(1 + output_.steps() / (4 * i_tiles_)) {
    const std::int64_t b = args.block_size;
    // Gate and up share four of the eight PSUM banks.
    const int turns = b <= 256 ? 3 : (b <= 512 ? 2 : 1);
    gate_psum_ = nki.RotatingPsum("gate_psum", turns, DType::kBf16, 128, {b});
    up_psum_ = nki.RotatingPsum("up_psum", turns, DType::kBf16, 128, {b});
    down_psum_ = nki.RotatingPsum("down_psum", 3, DType::kBf16, 128, {kBank});
    inter_ = nki.RotatingSbuf("intermediate", 2, DType::kBf16, 128, {b, 4});
    inter_x4_ = nki.RotatingSbuf("intermediate_x4", 1, DType::kFp8E4M3FnX4, 128, {i_tiles_, b});
    inter_scale_ = nki.RotatingSbuf("intermediate_scale", 1, DType::kE8M0, 128, {i_tiles_, b});
  }

  void Run() {
    const std::int64_t blocks = args_.blocks();
    const std::int64_t rows = args_.rows();
    const std::int64_t half = (rows + 1) / 2;
    ZeroRows(nki_, args_.output.At(), nki_.program_id() == 0 ? 0 : half,
             nki_.program_id() == 0 ? half : rows);
    nki_.core_barrier(args_.output);
    if (blocks == 0)
      return;
    LoadRows(0);
    weights_.LoadGateUp(0, tokens_.expert(0));
    weights_.LoadDown(0, tokens_.expert(0));
    hidden_.TransposeAndQuantize(0);
    for (std::int64_t n = 0; n < blocks; ++n) {
      const bool more = n + 1 < blocks;
      if (more)
        LoadRows(n + 1);
      ProjectGateUp(n);
      output_.Finish();
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
  void LoadRows(std::int64_t n) {
    tokens_.Load(n, n);
    hidden_.Gather(n);  // (1)
  }

  void ProjectGateUp(std::int64_t n) {  // (3), (4)
    for (std::int64_t tile = 0; tile < i_tiles_; ++tile) {
      for (int lane = 0; lane < 4; ++lane) {
        const std::int64_t sub_tile = tile * 4 + lane;
        const View& gate = gate_psum_[sub_tile];
        const View& up = up_psum_[sub_tile];
        MatmulGateUp(gate, n, 0, sub_tile);
        MatmulGateUp(up, n, 1, sub_tile);
        middle_.Apply(inter_[tile].Pick(2, lane), gate, up, weights_.gate_up_bias(n, 0, tile, lane),
                      weights_.gate_up_bias(n, 1, tile, lane));
        output_.Step(steps_per_sub_tile_);  // of the block before
      }
      nki_.quantize_mx(inter_x4_[0].Pick(1, tile), inter_scale_[0].Pick(1, tile),
                       inter_[tile].Flat());
    }
  }

  void MatmulGateUp(const View& psum, std::int64_t n, int gate_or_up, std::int64_t sub_tile) {
    const View w = weights_.gate_up(n).Pick(1, gate_or_up);
    const View w_scale = weights_.gate_up_scale(n).Pick(1, gate_or_up);
    for (std::int64_t h = 0; h < h_tiles_; ++h) {
      nki_.nc_matmul_mx(psum, w.Pick(1, h).Slice(1, sub_tile * 128, 128),
                        w_scale.Pick(1, h).Slice(1, sub_tile * 128, 128),
                        hidden_.words(n).Pick(1, h), hidden_.scales(n).Pick(1, h),
                        {.accumulate = h > 0});
    }
  }

  void ProjectDown(std::int64_t n) {  // (5)
    std::int64_t chunk = 0;
    for (int t = 0; t < tokens_.tiles(); ++t) {
      for (std::int64_t h = 0; h < args_.hidden(); h += kBank, ++chunk) {
        const View& psum = down_psum_[chunk];
        for (std::int64_t tile = 0; tile < i_tiles_; ++tile) {
          nki_.nc_matmul_mx(psum, inter_x4_[0].Pick(1, tile).Slice(1, t * 128, 128),
                            inter_scale_[0].Pick(1, tile).Slice(1, t * 128, 128),
                            weights_.down(n).Pick(1, tile).Slice(1, h, kBank),
                            weights_.down_scale(n).Pick(1, tile).Slice(1, h, kBank),
                            {.accumulate = tile > 0});
        }
        nki_.tensor_copy(output_.partial(t).Slice(1, h, kBank), psum,
                         chunk % 2 == 0 ? Engine::kScalar : Engine::kVector);
      }
    }
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  std::int64_t i_tiles_;  // of 512, this core's
  std::int64_t h_tiles_;  // of 512
  BlockTokens tokens_;
  MxHidden hidden_;
  MxWeights weights_;
  GatedActivation middle_;
  CrossCoreRows output_;
  std::int64_t steps_per_sub_tile_;
  lang::RotatingTile gate_psum_, up_psum_, down_psum_;
  lang::RotatingTile inter_, inter_x4_, inter_scale_;
};

}  // namespace

void BwmmShardOnIMx(lang::Core& nki, const MoECTESpec&, const MoeCteArgs& args) {
  Kernel(nki, args, PlanBuffers(args, nki.limits().sbuf_bytes)).Run();
}

}  // namespace bwmm::kernels
