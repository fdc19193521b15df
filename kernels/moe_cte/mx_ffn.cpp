#include "kernels/moe_cte/mx_ffn.h"

#include "kernels/lang/fits.h"

namespace bwmm::kernels {

using lang::View;

MxDepths DeepestThatFit(const lang::Core& nki, const MoeCteArgs& args,
                        const std::function<void(lang::Core&, const MxDepths&)>& allocate) {
  for (const MxDepths depths : {MxDepths{2, 2, 8}, MxDepths{1, 2, 8}, MxDepths{1, 1, 4}}) {
    // A skipped load needs the words in the buffer they were in.
    const bool skips = args.skip_dma.skip_weight && depths.gate_up > 1;
    if (!skips && lang::Fits(nki, [&](lang::Core& trial) { allocate(trial, depths); }))
      return depths;
  }
  return {.gate_up = 1, .quantized = 1, .gather_groups = 2};
}

MxFfn::MxFfn(lang::Core& nki, const MoeCteArgs& args, BlockTokens& tokens, const MxShare& share,
             const MxDepths& depths)
    : nki_(nki),
      args_(args),
      tokens_(tokens),
      hidden_(nki, args, tokens, depths.quantized, depths.gather_groups),
      weights_(nki, args, share, depths.gate_up, 1),
      middle_(nki, args, DType::kBf16, args.block_size) {
  const std::int64_t b = args.block_size;
  // Gate and up share four of eight PSUM banks.
  const int turns = nki.psum_depth(b <= 256 ? 3 : (b <= 512 ? 2 : 1));
  gate_psum_ = nki.RotatingPsum("gate_psum", turns, DType::kBf16, 128, {b});
  up_psum_ = nki.RotatingPsum("up_psum", turns, DType::kBf16, 128, {b});
  down_psum_ = nki.RotatingPsum("down_psum", nki.psum_depth(3), DType::kBf16, 128, {kChunk});
  inter_ = nki.RotatingSbuf("intermediate", 2, DType::kBf16, 128, {b, kMxGroup.lanes});
  if (share.padded()) {
    tail_ = nki.RotatingSbuf("intermediate_tail", 1, DType::kBf16, 128, {b, kMxGroup.lanes});
    nki.memset(tail_[0], 0.0f);
  }
  words_ = nki.RotatingSbuf("intermediate_x4", 1, DType::kFp8E4M3FnX4, 128, {share.tiles, b});
  scales_ = nki.RotatingSbuf("intermediate_scale", 1, DType::kE8M0, 128, {share.tiles, b});
}

void MxFfn::LoadRows(std::int64_t turn, const BlockIndex& block) {
  tokens_.Load(turn, block);
  hidden_.Gather(turn, block);
}

void MxFfn::Prepare(std::int64_t turn) {
  hidden_.TransposeAndQuantize(turn);
}

void MxFfn::LoadGateUp(std::int64_t turn) {
  weights_.LoadGateUp(turn, tokens_.weight_expert(turn), tokens_.expert(turn));
}

void MxFfn::LoadDown(std::int64_t turn) {
  weights_.LoadDown(turn, tokens_.weight_expert(turn), tokens_.expert(turn));
}

void MxFfn::LoadWeights(std::int64_t turn) {
  LoadGateUp(turn);
  LoadDown(turn);
}

void MxFfn::Compute(std::int64_t turn, bool next, const ComputeHooks& hooks) {
  ProjectGateUp(turn, hooks);
  hooks.before_down();
  if (next)
    LoadGateUp(turn + 1);
  ProjectDown(turn, hooks);
  if (next)
    LoadDown(turn + 1);
}

void MxFfn::ProjectGateUp(std::int64_t turn, const ComputeHooks& hooks) {
  for (std::int64_t tile = 0; tile < weights_.tiles(); ++tile) {
    const View& inter = Inter(tile);
    for (int lane = 0; lane < kMxGroup.lanes; ++lane) {
      const std::int64_t sub_tile = tile * kMxGroup.lanes + lane;
      if (sub_tile >= weights_.share().sub_tiles) {
        hooks.between();
        continue;
      }
      const View& gate = gate_psum_[sub_tile];
      const View& up = up_psum_[sub_tile];
      MatmulGateUp(gate, turn, 0, sub_tile);
      MatmulGateUp(up, turn, 1, sub_tile);
      middle_.Apply(inter.Pick(2, lane),
                    {{{.psum = gate, .bias = weights_.gate_up_bias(turn, 0, tile, lane)},
                      {.psum = up, .bias = weights_.gate_up_bias(turn, 1, tile, lane)}}});
      hooks.between();
    }
    nki_.quantize_mx(words_[0].Pick(1, tile), scales_[0].Pick(1, tile), inter.Flat());
  }
}

void MxFfn::MatmulGateUp(const View& psum, std::int64_t turn, int gate_or_up,
                         std::int64_t sub_tile) {
  const View w = weights_.gate_up(turn).Pick(1, gate_or_up).Slice(2, sub_tile * 128, 128);
  const View w_scale =
      weights_.gate_up_scale(turn).Pick(1, gate_or_up).Slice(2, sub_tile * 128, 128);
  for (std::int64_t h = 0; h < kMxGroup.TilesOf(args_.hidden()); ++h) {
    nki_.nc_matmul_mx(psum, w.Pick(1, h), w_scale.Pick(1, h), hidden_.words(turn).Pick(1, h),
                      hidden_.scales(turn).Pick(1, h), {.accumulate = h > 0});
  }
}

void MxFfn::ProjectDown(std::int64_t turn, const ComputeHooks& hooks) {
  std::int64_t chunk = 0;
  for (int t = 0; t < args_.block_size / 128; ++t) {
    const View words = words_[0].Slice(2, t * 128, 128);
    const View scales = scales_[0].Slice(2, t * 128, 128);
    for (std::int64_t h = 0; h < args_.hidden(); h += kChunk, ++chunk) {
      const View w = weights_.down(turn).Slice(2, h, kChunk);
      const View w_scale = weights_.down_scale(turn).Slice(2, h, kChunk);
      const View& psum = down_psum_[chunk];
      for (std::int64_t tile = 0; tile < weights_.tiles(); ++tile) {
        nki_.nc_matmul_mx(psum, words.Pick(1, tile), scales.Pick(1, tile), w.Pick(1, tile),
                          w_scale.Pick(1, tile), {.accumulate = tile > 0});
      }
      hooks.result(t, h, psum);
    }
  }
}

}  // namespace bwmm::kernels
