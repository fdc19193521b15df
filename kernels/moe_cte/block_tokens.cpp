#include "kernels/moe_cte/block_tokens.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

BlockTokens::BlockTokens(lang::Core& nki, const MoeCteArgs& args, int depth)
    : nki_(nki), args_(args), tiles_(args.block_size / 128) {
  ids_ = nki.RotatingSbuf("token_ids", depth, DType::kInt32, 128, {tiles_});
  expert_ = nki.RotatingSbuf("block_expert", depth, DType::kInt32, 128, {1});
  address_ = nki.RotatingSbuf("affinity_address", depth, DType::kInt32, 128, {tiles_});
  affinity_ = nki.RotatingSbuf("affinity", depth, DType::kFp32, 128, {tiles_});
}

void BlockTokens::Load(std::int64_t turn, std::int64_t block) {
  const View& ids = ids_[turn];
  const View& expert = expert_[turn];
  const View& address = address_[turn];
  nki_.dma_copy(ids, args_.token_position_to_id.Columns(block * args_.block_size, 128, tiles_));
  nki_.dma_copy(expert, args_.block_to_expert.Columns(block, 1, 1));
  nki_.tensor_scalar(address, ids, AluOp::kMultiply, static_cast<float>(args_.experts()),
                     AluOp::kAdd, expert, Engine::kGpSimd);
  const View table = args_.expert_affinities_masked.Rows(1);
  for (int t = 0; t < tiles_; ++t) {
    const View index = address.Slice(1, t, 1);
    nki_.dma_copy(affinity(turn, t), table, {.gather = table.RowsAt(index)});
  }
}

}  // namespace bwmm::kernels
