#include "kernels/moe_cte/block_tokens.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

BlockTokens::BlockTokens(lang::Core& nki, const MoeCteArgs& args, int depth, bool expert_is_block)
    : nki_(nki), args_(args), tiles_(args.block_size / 128), expert_is_block_(expert_is_block) {
  ids_ = nki.RotatingSbuf("token_ids", depth, DType::kInt32, 128, {tiles_});
  expert_ = nki.RotatingSbuf("block_expert", depth, DType::kInt32, 128, {1});
  if (args.skip_dma.skip_weight)
    weight_expert_ = nki.RotatingSbuf("weight_expert", depth, DType::kInt32, 128, {1});
  address_ = nki.RotatingSbuf("affinity_address", depth, DType::kInt32, 128, {tiles_});
  affinity_ = nki.RotatingSbuf("affinity", depth, DType::kFp32, 128, {tiles_});
  // Skipped rows keep what is there; it must be a number.
  if (args.skip_dma.skip_token) {
    for (int i = 0; i < depth; ++i)
      nki.memset(affinity_[i], 0.0f);
  }
}

void BlockTokens::LoadSlots(const View& dst, const BlockIndex& block) const {
  const std::int64_t rows = dst.size(0), columns = dst.free_size();
  const lang::HbmTensor& slots = args_.token_position_to_id;
  if (!block.device) {
    nki_.dma_copy(dst, slots.Columns(block.number * args_.block_size, rows, columns));
    return;
  }
  const lang::HbmTensor blocks = slots.Reshaped({args_.blocks(), args_.block_size});
  nki_.dma_copy(dst, slots.Columns(0, rows, columns), {.src_offset = blocks.Offset(*block.device)});
}

void BlockTokens::Address(const View& address, const View& ids, std::int64_t turn) const {
  nki_.tensor_scalar(address, ids, AluOp::kMultiply, static_cast<float>(args_.experts()),
                     AluOp::kAdd, expert_[turn], Engine::kGpSimd);
}

void BlockTokens::LoadExpert(std::int64_t turn, const BlockIndex& block) {
  const View& expert = expert_[turn];
  if (expert_is_block_) {
    nki_.memset(expert, static_cast<float>(block.number), Engine::kGpSimd);
  } else if (block.device) {
    nki_.dma_copy(expert, args_.block_to_expert.Columns(0, 1, 1),
                  {.src_offset = args_.block_to_expert.Offset(*block.device)});
  } else {
    nki_.dma_copy(expert, args_.block_to_expert.Columns(block.number, 1, 1));
  }
  if (!args_.skip_dma.skip_weight)
    return;
  const View& chosen = weight_expert_[turn];
  if (turn == 0) {
    nki_.tensor_copy(chosen, expert, Engine::kGpSimd);
    return;
  }
  // chosen = expert + (expert == previous) * E: in bounds only when the expert changes.
  nki_.tensor_tensor(chosen, expert, AluOp::kIsEqual, expert_[turn - 1], Engine::kGpSimd);
  nki_.scalar_tensor_tensor(chosen, chosen, AluOp::kMultiply, static_cast<float>(args_.experts()),
                            AluOp::kAdd, expert, Engine::kGpSimd);
}

void BlockTokens::Load(std::int64_t turn, const BlockIndex& block) {
  const View& address = address_[turn];
  LoadSlots(ids_[turn], block);
  LoadExpert(turn, block);
  Address(address, ids_[turn], turn);
  const View table = args_.expert_affinities_masked.Rows(1);
  for (int t = 0; t < tiles_; ++t) {
    nki_.dma_copy(affinity(turn, t), table,
                  {.gather = table.RowsAt(address.Slice(1, t, 1), oob())});
  }
}

}  // namespace bwmm::kernels
