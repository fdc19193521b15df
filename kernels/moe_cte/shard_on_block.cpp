// bwmm_shard_on_block: bf16 weights, whole blocks go to cores, even ones to core 0 (PING_PONG).
//
// Per block n of B tokens, expert e, all on one core:
//   (1)  X  = hidden[ids]                       [B, H]   gather
//   (2)  Xt = X^T                               [H, B]   PE transpose
//   (3)  G  = Wg[e]^T Xt,  U = Wu[e]^T Xt       [I, B]   fp32 PSUM
//   (4)  A  = act(clamp(G + bg)) * clamp(U + bu)         fp32, then bf16
//   (5)  Y  = A^T Wd[e]  (+ bd)                 [B, H]   fp32 PSUM
//   (6)  plane_c[ids] = p[ids, e] * Y + plane_c[ids]     one fused fp32 operation, then bf16
// Epilogue: core_barrier, plane 0 += plane 1, plane 1 = 0.
//
// Blocks run in groups of three: loads and transposes of a group first, then its matmuls. Loads of
// group g + 1 are emitted before the matmuls of group g, which they overlap.

#include <algorithm>

#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/gated_activation.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/output_rows.h"
#include "kernels/moe_cte/weights.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr int kBlockParallelFactor = 3;
constexpr std::int64_t kTile = 128;
constexpr std::int64_t kBank = 512;  // fp32 columns of one PSUM bank
constexpr std::int64_t kTransposesPerBank = 8;

class Kernel {
 public:
  Kernel(lang::Core& nki, const MoeCteArgs& args)
      : nki_(nki),
        args_(args),
        h_tiles_(args.hidden() / kTile),
        i_tiles_((args.intermediate() + kTile - 1) / kTile),
        owned_((args.blocks() - nki.program_id() + 1) / 2),
        plane_(args.output.At().Pick(1, nki.program_id())),
        tokens_(nki, args, 2 * kBlockParallelFactor),
        middle_(nki, args, DType::kFp32, args.block_size),
        weights_(nki, args) {
    const std::int64_t h = args.hidden();
    const std::int64_t b = args.block_size;
    const int group_rows = kBlockParallelFactor * tokens_.tiles();
    rows_ = nki.RotatingSbuf("hidden_rows", group_rows, DType::kBf16, 128, {h});
    hidden_t_ =
        nki.RotatingSbuf("hidden_t", kBlockParallelFactor, DType::kBf16, 128, {h_tiles_, b});
    transposed_ = nki.RotatingPsum("transposed", 2, DType::kBf16, 128, {kTransposesPerBank, kTile});
    gate_psum_ = nki.RotatingPsum("gate_psum", 2, DType::kFp32, 128, {b});
    up_psum_ = nki.RotatingPsum("up_psum", 2, DType::kFp32, 128, {b});
    down_psum_ = nki.RotatingPsum("down_psum", 2, DType::kFp32, 128, {kBank});
    inter_ = nki.RotatingSbuf("intermediate", 1, DType::kBf16, 128, {i_tiles_, b});
    old_ = nki.RotatingSbuf("old_rows", 2, DType::kBf16, 128, {h});
    new_ = nki.RotatingSbuf("new_rows", 2, DType::kBf16, 128, {h});
  }

  void Run() {
    ZeroRows(nki_, plane_, 0, args_.rows());
    LoadGroup(0);
    TransposeGroup(0);
    for (std::int64_t first = 0; first < owned_; first += kBlockParallelFactor) {
      LoadGroup(first + kBlockParallelFactor);
      for (std::int64_t i = first; i < GroupEnd(first); ++i) {
        weights_.Load(i, tokens_.expert(i));
        ProjectGateUp(i);
        ProjectDown(i);
      }
      TransposeGroup(first + kBlockParallelFactor);
    }
    ReduceOutputs(nki_, args_.output);
  }

 private:
  // Blocks are counted per core: the i-th of this core is block 2i + core.
  std::int64_t BlockOf(std::int64_t i) const { return 2 * i + nki_.program_id(); }
  std::int64_t GroupEnd(std::int64_t first) const {
    return std::min(first + kBlockParallelFactor, owned_);
  }

  void LoadGroup(std::int64_t first) {  // (1)
    const View hidden = args_.hidden_states.At();
    for (std::int64_t i = first; i < GroupEnd(first); ++i) {
      tokens_.Load(i, {.number = BlockOf(i)});
      for (int t = 0; t < tokens_.tiles(); ++t) {
        const View& rows = rows_[i * tokens_.tiles() + t];
        nki_.dma_copy(rows, hidden, {.gather = hidden.RowsAt(tokens_.ids(i, t))});
        if (args_.expert_affinities_scaling_mode == AffinityScalingMode::kPreScale)
          nki_.tensor_scalar(rows, rows, AluOp::kMultiply, tokens_.affinity(i, t));
      }
    }
  }

  void TransposeGroup(std::int64_t first) {  // (2)
    for (std::int64_t i = first; i < GroupEnd(first); ++i) {
      for (int t = 0; t < tokens_.tiles(); ++t) {
        const View& rows = rows_[i * tokens_.tiles() + t];
        for (std::int64_t h = 0; h < h_tiles_; h += kTransposesPerBank, ++transposes_) {
          const std::int64_t count = std::min(kTransposesPerBank, h_tiles_ - h);
          const View psum = transposed_[transposes_].Slice(1, 0, count);
          for (std::int64_t j = 0; j < count; ++j)
            nki_.nc_transpose(psum.Pick(1, j), rows.Slice(1, (h + j) * kTile, kTile));
          nki_.tensor_copy(hidden_t_[i].Slice(1, h, count).Slice(2, t * kTile, kTile), psum,
                           Engine::kScalar);
        }
      }
    }
  }

  void ProjectGateUp(std::int64_t i) {  // (3), (4)
    for (std::int64_t tile = 0; tile < i_tiles_; ++tile) {
      const std::int64_t m = weights_.TileRows(tile);
      const View gate = gate_psum_[tile].Slice(0, 0, m);
      const View up = up_psum_[tile].Slice(0, 0, m);
      for (const int gate_or_up : {0, 1}) {
        const View w = weights_.gate_up(i, gate_or_up).Slice(2, tile * kTile, m);
        for (std::int64_t h = 0; h < h_tiles_; ++h)
          nki_.nc_matmul(gate_or_up == 0 ? gate : up, w.Pick(1, h), hidden_t_[i].Pick(1, h),
                         {.accumulate = h > 0});
      }
      middle_.Apply(inter_[0].Pick(1, tile).Slice(0, 0, m), gate, up,
                    weights_.gate_up_bias(i, 0, tile), weights_.gate_up_bias(i, 1, tile));
    }
  }

  void ProjectDown(std::int64_t i) {  // (5), (6)
    std::int64_t chunk = 0;
    for (int t = 0; t < tokens_.tiles(); ++t) {
      const std::int64_t turn = i * tokens_.tiles() + t;
      const View ids = tokens_.ids(i, t);
      nki_.dma_copy(old_[turn], plane_, {.gather = plane_.RowsAt(ids)});
      for (std::int64_t h = 0; h < args_.hidden(); h += kBank, ++chunk) {
        const View& psum = down_psum_[chunk];
        for (std::int64_t tile = 0; tile < i_tiles_; ++tile) {
          const std::int64_t k = weights_.TileRows(tile);
          nki_.nc_matmul(psum, inter_[0].Pick(1, tile).Slice(0, 0, k).Slice(1, t * kTile, kTile),
                         weights_.down(i, tile).Slice(1, h, kBank), {.accumulate = tile > 0});
        }
        if (const auto bias = weights_.down_bias(i))
          nki_.tensor_tensor(psum, psum, AluOp::kAdd, bias->Slice(1, h, kBank));
        const View row = new_[turn].Slice(1, h, kBank);
        const View old = old_[turn].Slice(1, h, kBank);
        if (args_.expert_affinities_scaling_mode == AffinityScalingMode::kPostScale)
          nki_.scalar_tensor_tensor(row, psum, AluOp::kMultiply, tokens_.affinity(i, t),
                                    AluOp::kAdd, old);
        else
          nki_.tensor_tensor(row, psum, AluOp::kAdd, old);
      }
      nki_.dma_copy(plane_, new_[turn], {.scatter = plane_.RowsAt(ids)});
    }
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  std::int64_t h_tiles_, i_tiles_;
  std::int64_t owned_;  // blocks of this core
  std::int64_t transposes_ = 0;
  View plane_;  // [rows, H], this core's
  BlockTokens tokens_;
  GatedActivation middle_;
  Weights weights_;
  lang::RotatingTile rows_, hidden_t_, transposed_, gate_psum_, up_psum_, down_psum_;
  lang::RotatingTile inter_, old_, new_;
};

}  // namespace

void BwmmShardOnBlock(lang::Core& nki, const MoECTESpec&, const MoeCteArgs& args) {
  Kernel(nki, args).Run();
}

}  // namespace bwmm::kernels
