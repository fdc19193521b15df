#include "kernels/moe_cte/mx_expert.h"

#include "kernels/moe_cte/psum_depth.h"

namespace bwmm::kernels {

using lang::View;

MxExpert::MxExpert(lang::Core& nki, const MoeCteArgs& args, MxWeights& weights)
    : nki_(nki), args_(args), weights_(weights), middle_(nki, args, DType::kBf16, args.block_size) {
  const std::int64_t b = args.block_size;
  // Gate and up share four of eight PSUM banks.
  const int turns = PsumDepth(nki.limits(), b <= 256 ? 3 : (b <= 512 ? 2 : 1));
  gate_psum_ = nki.RotatingPsum("gate_psum", turns, DType::kBf16, 128, {b});
  up_psum_ = nki.RotatingPsum("up_psum", turns, DType::kBf16, 128, {b});
  down_psum_ =
      nki.RotatingPsum("down_psum", PsumDepth(nki.limits(), 3), DType::kBf16, 128, {kChunk});
  inter_ = nki.RotatingSbuf("intermediate", 2, DType::kBf16, 128, {b, 4});
  if (weights.share().padded()) {
    tail_ = nki.RotatingSbuf("intermediate_tail", 1, DType::kBf16, 128, {b, 4});
    nki.memset(tail_[0], 0.0f);
  }
  words_ = nki.RotatingSbuf("intermediate_x4", 1, DType::kFp8E4M3FnX4, 128, {weights.tiles(), b});
  scales_ = nki.RotatingSbuf("intermediate_scale", 1, DType::kE8M0, 128, {weights.tiles(), b});
}

void MxExpert::ProjectGateUp(std::int64_t turn, const MxHidden& hidden,
                             const std::function<void()>& between) {
  for (std::int64_t tile = 0; tile < weights_.tiles(); ++tile) {
    const View& inter = Inter(tile);
    for (int lane = 0; lane < 4; ++lane) {
      const std::int64_t sub_tile = tile * 4 + lane;
      if (sub_tile >= weights_.share().sub_tiles) {
        between();
        continue;
      }
      const View& gate = gate_psum_[sub_tile];
      const View& up = up_psum_[sub_tile];
      MatmulGateUp(gate, turn, hidden, 0, sub_tile);
      MatmulGateUp(up, turn, hidden, 1, sub_tile);
      middle_.Apply(inter.Pick(2, lane),
                    {{{.psum = gate, .bias = weights_.gate_up_bias(turn, 0, tile, lane)},
                      {.psum = up, .bias = weights_.gate_up_bias(turn, 1, tile, lane)}}});
      between();
    }
    nki_.quantize_mx(words_[0].Pick(1, tile), scales_[0].Pick(1, tile), inter.Flat());
  }
}

void MxExpert::MatmulGateUp(const View& psum, std::int64_t turn, const MxHidden& hidden,
                            int gate_or_up, std::int64_t sub_tile) {
  const View w = weights_.gate_up(turn).Pick(1, gate_or_up).Slice(2, sub_tile * 128, 128);
  const View w_scale =
      weights_.gate_up_scale(turn).Pick(1, gate_or_up).Slice(2, sub_tile * 128, 128);
  for (std::int64_t h = 0; h < args_.hidden() / 512; ++h) {
    nki_.nc_matmul_mx(psum, w.Pick(1, h), w_scale.Pick(1, h), hidden.words(turn).Pick(1, h),
                      hidden.scales(turn).Pick(1, h), {.accumulate = h > 0});
  }
}

void MxExpert::ProjectDown(std::int64_t turn,
                           const std::function<void(int, std::int64_t, const View&)>& result) {
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
      result(t, h, psum);
    }
  }
}

}  // namespace bwmm::kernels
