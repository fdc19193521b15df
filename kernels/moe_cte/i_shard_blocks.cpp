#include "kernels/moe_cte/i_shard_blocks.h"

#include <algorithm>

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::Tile;
using lang::View;

void IShardBlocks::Compute(std::int64_t turn, bool next) {
  const std::int64_t steps = 1 + output_.steps() / ffn_.sub_tiles();
  int copies = 0;
  ffn_.Compute(turn, next,
               {.between = [&] { output_.Step(steps); },
                .before_down = [&] { output_.Finish(false); },  // of the block before
                .result =
                    [&](int t, std::int64_t h, const View& sum) {
                      nki_.tensor_copy(output_.partial(t).Slice(1, h, ExpertFfn::kChunk), sum,
                                       copies++ % 2 == 0 ? Engine::kScalar : Engine::kVector);
                    }});
}

void IShardBlocks::RunStatic(std::int64_t count) {
  if (count == 0)
    return;
  ffn_.LoadRows(0, {.number = 0});
  ffn_.LoadWeights(0);
  ffn_.Prepare(0);
  for (std::int64_t n = 0; n < count; ++n) {
    const bool more = n + 1 < count;
    if (more)
      ffn_.LoadRows(n + 1, {.number = n + 1});
    Compute(n, more);
    if (more)
      ffn_.Prepare(n + 1);
    output_.Exchange(n, ffn_.down_bias(n));
  }
  output_.Finish(count == args_.blocks());
}

void IShardBlocks::RunDynamic(std::int64_t first, const lang::HbmTensor& conditions) {
  const std::int64_t entries = conditions.shape[0];
  const Tile flags = nki_.Sbuf("conditions", DType::kInt32, 1, {entries});
  const Tile live = nki_.Sbuf("live_blocks", DType::kInt32, 1, {1});
  const Tile index = nki_.Sbuf("block_index", DType::kInt32, 1, {1});
  nki_.dma_copy(flags, conditions.Rows(entries));
  nki_.tensor_reduce(live, AluOp::kAdd, flags);
  const std::int64_t end = nki_.register_load(live);
  nki_.memset(index, static_cast<float>(first), Engine::kGpSimd);
  for (std::int64_t n = first; n < end; ++n) {
    ffn_.LoadRows(n, {.number = n, .device = index.view()});
    ffn_.LoadWeights(n);
    ffn_.Prepare(n);
    Compute(n, false);
    output_.Exchange(n, ffn_.down_bias(n));
    output_.Finish(n + 1 == end);
    nki_.tensor_scalar(index, index, AluOp::kAdd, 1.0f, Engine::kGpSimd);
  }
}

std::int64_t StaticPrefix(const MoeCteArgs& args, const std::optional<int>& given) {
  return std::clamp<std::int64_t>(given ? *given : args.blocks() - args.experts(), 0,
                                  args.blocks());
}

}  // namespace bwmm::kernels
