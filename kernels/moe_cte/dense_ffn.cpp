#include "kernels/moe_cte/dense_ffn.h"

#include <algorithm>

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr std::int64_t kTile = 128;
constexpr std::int64_t kBank = 512;  // fp32 columns of one PSUM bank

}  // namespace

DenseFfn::DenseFfn(lang::Core& nki, const MoeCteArgs& args, BlockTokens& tokens, std::int64_t first,
                   std::int64_t count, const Options& options)
    : nki_(nki),
      args_(args),
      tokens_(tokens),
      first_(first),
      options_(options),
      hidden_(nki, args, tokens, options.hidden_depth),
      middle_(nki, args, DType::kFp32, std::min<std::int64_t>(kBank, args.block_size),
              options.checkpoint != nullptr) {
  const std::int64_t b = args.block_size;
  const std::int64_t columns = std::min(b, kBank);
  gate_psum_ = nki.RotatingPsum("gate_psum", nki.psum_depth(2), DType::kFp32, 128, {columns});
  up_psum_ = nki.RotatingPsum("up_psum", nki.psum_depth(2), DType::kFp32, 128, {columns});
  // Transposes have two of eight banks, gate and up four, or two where a bank holds two tiles.
  const int down_depth = nki.psum_depth(columns <= kBank / 2 ? 4 : 2);
  down_psum_ = nki.RotatingPsum("down_psum", down_depth, DType::kFp32, 128, {kChunk});
  if (options.affinity_on_I) {
    affinity_columns_ = nki.RotatingSbuf("affinity_bf16", 1, DType::kBf16, 128, {b / kTile});
    affinity_row_ = nki.RotatingSbuf("affinity_row", 1, DType::kBf16, 128, {b});
  }
  inter_ = nki.RotatingSbuf("intermediate", 1, DType::kBf16, 128, {(count + kTile - 1) / kTile, b});
  const DenseWeights::Chunks whole = DenseWeights::Whole(args, count);
  if (DenseWeights::Fit(nki, args, first, count, whole)) {
    weights_.emplace(nki, args, first, count, whole);
    return;
  }
  sums_ = nki.RotatingSbuf("down_sums", 1, DType::kFp32, 128, {b / kTile, args.hidden()});
  weights_.emplace(nki, args, first, count, DenseWeights::LargestThatFit(nki, args, first, count));
}

void DenseFfn::LoadRows(std::int64_t turn, const BlockIndex& block) {
  tokens_.Load(turn, block);
  hidden_.Gather(turn);
}

void DenseFfn::Prepare(std::int64_t turn) {
  hidden_.Transpose(turn);
}

void DenseFfn::LoadStep(std::int64_t step) {
  const std::int64_t turn = step / weights_->chunks();
  // Chunks of one expert follow each other in the buffers: none is still there when it comes again.
  const bool may_skip = weights_->chunks() == 1;
  weights_->Load(step, may_skip ? tokens_.weight_expert(turn) : tokens_.expert(turn));
  if (step % weights_->chunks() == 0)
    weights_->LoadDownRow(turn, tokens_.expert(turn));
}

void DenseFfn::LoadWeights(std::int64_t turn) {
  LoadStep(StepOf(turn, 0));
}

void DenseFfn::Compute(std::int64_t turn, bool next, const ComputeHooks& hooks) {
  if (options_.affinity_on_I)
    BroadcastAffinity(turn);
  const bool early = weights_->depth() > 1;
  for (std::int64_t c = 0; c < weights_->chunks(); ++c) {
    const std::int64_t step = StepOf(turn, c);
    const bool more = next || c + 1 < weights_->chunks();
    if (more && early)
      LoadStep(step + 1);
    ProjectGateUp(turn, c, hooks);
    if (c == 0)
      hooks.before_down();
    ProjectDown(turn, c, hooks);
    if (more && !early)
      LoadStep(step + 1);
  }
}

void DenseFfn::ProjectGateUp(std::int64_t turn, std::int64_t c, const ComputeHooks& hooks) {
  const std::int64_t step = StepOf(turn, c);
  for (std::int64_t tile = 0; tile < weights_->tiles(c); ++tile) {
    const std::int64_t m = weights_->TileRows(c, tile);
    for (std::int64_t column = 0; column < args_.block_size; column += kBank) {
      const std::int64_t n = std::min(kBank, args_.block_size - column);
      GatedActivation::Inputs inputs;
      for (const int gate_or_up : {0, 1}) {
        const lang::RotatingTile& psums = gate_or_up == 0 ? gate_psum_ : up_psum_;
        const View psum = psums[tile + column / kBank].Slice(0, 0, m).Slice(1, 0, n);
        const View w = weights_->gate_up(step, gate_or_up, tile);
        const View x = hidden_.transposed(turn).Slice(2, column, n);
        for (std::int64_t h = 0; h < args_.hidden() / kTile; ++h)
          nki_.nc_matmul(psum, w.Pick(1, h), x.Pick(1, h), {.accumulate = h > 0});
        inputs[gate_or_up] = {.psum = psum,
                              .scale = weights_->gate_up_scale(step, gate_or_up, tile),
                              .bias = weights_->gate_up_bias(step, gate_or_up, tile)};
      }
      const View inter = inter_[0].Pick(1, tile).Slice(0, 0, m).Slice(1, column, n);
      middle_.Apply(inter, inputs);
      if (options_.checkpoint != nullptr)
        Checkpoint(turn, c, tile, column, inputs);
      if (options_.affinity_on_I)
        nki_.tensor_tensor(inter, inter, AluOp::kMultiply,
                           affinity_row_[0].Slice(0, 0, m).Slice(1, column, n));
    }
    hooks.between();
  }
}

void DenseFfn::ProjectDown(std::int64_t turn, std::int64_t c, const ComputeHooks& hooks) {
  const std::int64_t step = StepOf(turn, c);
  const bool last = c + 1 == weights_->chunks();
  std::int64_t chunk = 0;
  for (int t = 0; t < tokens_.tiles(); ++t) {
    for (std::int64_t h = 0; h < args_.hidden(); h += kChunk, ++chunk) {
      const View& psum = down_psum_[chunk];
      for (std::int64_t tile = 0; tile < weights_->tiles(c); ++tile) {
        const std::int64_t k = weights_->TileRows(c, tile);
        nki_.nc_matmul(psum, inter_[0].Pick(1, tile).Slice(0, 0, k).Slice(1, t * kTile, kTile),
                       weights_->down(step, tile).Slice(1, h, kChunk), {.accumulate = tile > 0});
      }
      View sum = psum;
      if (weights_->chunks() > 1) {
        sum = sums_[0].Pick(1, t).Slice(1, h, kChunk);
        if (c == 0)
          nki_.tensor_copy(sum, psum);
        else
          nki_.tensor_tensor(sum, psum, AluOp::kAdd, sum);
      }
      if (!last)
        continue;
      if (const auto scale = weights_->down_scale(turn))
        nki_.tensor_tensor(sum, sum, AluOp::kMultiply, scale->Slice(1, h, kChunk));
      hooks.result(t, h, sum);
    }
  }
}

// affinity [128 tokens, 1] per tile to [128, B], the same row in every partition: the transpose of
// a tile whose columns all are the affinity.
void DenseFfn::BroadcastAffinity(std::int64_t turn) {
  for (int t = 0; t < tokens_.tiles(); ++t) {
    const View column = affinity_columns_[0].Slice(1, t, 1);
    nki_.tensor_copy(column, tokens_.affinity(turn, t));
    const View psum = gate_psum_[t].Slice(1, 0, kTile / 2).Retyped(DType::kBf16);
    nki_.nc_transpose(psum, column.Repeated(kTile));
    nki_.tensor_copy(affinity_row_[0].Slice(1, t * kTile, kTile), psum);
  }
}

void DenseFfn::Checkpoint(std::int64_t turn, std::int64_t c, std::int64_t tile, std::int64_t column,
                          const GatedActivation::Inputs& inputs) {
  const std::int64_t begin = first_ + c * weights_->chunk_tiles() * kTile + tile * kTile;
  for (const int gate_or_up : {0, 1}) {
    const View clamped = middle_.checkpoint(gate_or_up, inputs);
    nki_.dma_copy(options_.checkpoint->At({turn, gate_or_up})
                      .Slice(0, begin, weights_->TileRows(c, tile))
                      .Slice(1, column, clamped.size(1)),
                  clamped);
  }
}

}  // namespace bwmm::kernels
