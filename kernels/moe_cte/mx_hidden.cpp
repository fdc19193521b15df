#include "kernels/moe_cte/mx_hidden.h"

#include <algorithm>

#include "model/numerics/scale_group.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr int kQuarters = kMxGroup.lanes;
constexpr int kGroupTokens = kTilePartitions / kQuarters;  // tokens of one gather
constexpr int kTilesPerBank = 8;  // bf16 transposes of 128 columns in one PSUM bank

}  // namespace

MxHidden::MxHidden(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
                   int quantized_depth, int gather_depth)
    : nki_(nki),
      args_(args),
      tokens_(tokens),
      tiles_(kMxGroup.TilesOf(args.hidden())),
      groups_(args.block_size / kGroupTokens),
      quarter_(nki.Sbuf("quarter", DType::kInt32, 128, {1})) {
  for (int w = 0; w < kQuarters; ++w)
    nki.memset(quarter_->Slice(0, kGroupTokens * w, kGroupTokens), static_cast<float>(w),
               Engine::kGpSimd);
  slots_ = nki.RotatingSbuf("row_slots", 2, DType::kInt32, 128, {groups_});
  index_ = nki.RotatingSbuf("row_index", 2, DType::kInt32, 128, {groups_});
  rows_ = nki.RotatingSbuf("hidden_rows", gather_depth, DType::kBf16, 128, {tiles_ * 128});
  if (args.skip_dma.skip_token) {
    for (int i = 0; i < gather_depth; ++i)
      nki.memset(rows_[i], 0.0f);
  }
  if (pre_scale()) {
    address_ = nki.RotatingSbuf("lane_address", 2, DType::kInt32, 128, {groups_});
    affinity_ = nki.RotatingSbuf("lane_affinity", gather_depth, DType::kFp32, 128, {1});
    for (int i = 0; i < gather_depth; ++i)
      nki.memset(affinity_[i], 0.0f);
  }
  transposed_ =
      nki.RotatingPsum("transposed", nki.psum_depth(2), DType::kBf16, 128, {kTilesPerBank, 128});
  lanes_ =
      nki.RotatingSbuf("hidden_lanes", 2, DType::kBf16, 128, {tiles_, kGroupTokens, kQuarters});
  words_ = nki.RotatingSbuf("hidden_x4", quantized_depth, DType::kFp8E4M3FnX4, 128,
                            {tiles_, args.block_size});
  scales_ = nki.RotatingSbuf("hidden_scale", quantized_depth, DType::kE8M0, 128,
                             {tiles_, args.block_size});
}

void MxHidden::Gather(std::int64_t turn, const BlockIndex& block) {
  const View& slots = slots_[turn];
  for (int w = 0; w < kQuarters; ++w)
    tokens_.LoadSlots(slots.Slice(0, kGroupTokens * w, kGroupTokens), block);
  nki_.tensor_scalar(index_[turn], slots, AluOp::kMultiply, static_cast<float>(kQuarters),
                     AluOp::kAdd, quarter_.view(), Engine::kGpSimd);
  if (pre_scale())
    tokens_.Address(address_[turn], slots, turn);
  for (std::int64_t g = 0; g < std::min<std::int64_t>(groups_, rows_.count()); ++g)
    GatherGroup(turn, g);
}

void MxHidden::GatherGroup(std::int64_t turn, std::int64_t group) {
  const std::int64_t buffer = turn * groups_ + group;
  const View table = args_.hidden_states.Rows(args_.hidden() / kQuarters);
  const View index = index_[turn].Slice(1, group, 1);
  nki_.dma_copy(rows_[buffer], table, {.gather = table.RowsAt(index, tokens_.oob())});
  if (!pre_scale())
    return;
  const View affinities = args_.expert_affinities_masked.Rows(1);
  const View address = address_[turn].Slice(1, group, 1);
  nki_.dma_copy(affinity_[buffer], affinities,
                {.gather = affinities.RowsAt(address, tokens_.oob())});
  nki_.tensor_scalar(rows_[buffer], rows_[buffer], AluOp::kMultiply, affinity_[buffer]);
}

void MxHidden::TransposeAndQuantize(std::int64_t turn) {
  for (std::int64_t g = 0; g < groups_; ++g) {
    const std::int64_t group = turn * groups_ + g;
    const View& rows = rows_[group];
    const View& lanes = lanes_[group];
    for (std::int64_t first = 0; first < tiles_; first += kTilesPerBank) {
      const std::int64_t count = std::min<std::int64_t>(kTilesPerBank, tiles_ - first);
      const View psum = transposed_[group + first / kTilesPerBank].Slice(1, 0, count);
      for (std::int64_t j = 0; j < count; ++j)
        nki_.nc_transpose(psum.Pick(1, j), rows.Slice(1, (first + j) * 128, 128));
      // (tile, quarter, token) as transposed, stored as (tile, token, quarter).
      nki_.tensor_copy(lanes.Slice(1, first, count).Permuted({1, 3, 2}),
                       psum.Split(2, kGroupTokens), Engine::kScalar);
    }
    const std::int64_t token = g * kGroupTokens;
    nki_.quantize_mx(words_[turn].Slice(2, token, kGroupTokens),
                     scales_[turn].Slice(2, token, kGroupTokens), lanes.Flat());
    if (g + rows_.count() < groups_)
      GatherGroup(turn, g + rows_.count());
  }
}

}  // namespace bwmm::kernels
