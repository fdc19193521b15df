#include "kernels/moe_cte/plane_rows.h"

#include <utility>

namespace bwmm::kernels {

using lang::AluOp;
using lang::View;

PlaneRows::PlaneRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens, View plane,
                     Rounding rounding)
    : nki_(nki), args_(args), tokens_(tokens), plane_(std::move(plane)), rounding_(rounding) {
  const int depth = tokens.tiles();
  new_ = nki.RotatingSbuf("new_rows", depth, DType::kBf16, 128, {args.hidden()});
  if (!args.is_tensor_update_accumulating)
    return;
  old_ = nki.RotatingSbuf("old_rows", depth, DType::kBf16, 128, {args.hidden()});
  // Skipped rows keep what is there; it must be a number.
  if (args.skip_dma.skip_token) {
    for (int t = 0; t < depth; ++t)
      nki.memset(old_[t], 0.0f);
  }
}

void PlaneRows::Begin(std::int64_t turn) {
  if (!args_.is_tensor_update_accumulating)
    return;
  for (int t = 0; t < tokens_.tiles(); ++t) {
    nki_.dma_copy(old_[RowOf(turn, t)], plane_,
                  {.gather = plane_.RowsAt(tokens_.ids(turn, t), tokens_.oob())});
  }
}

void PlaneRows::Add(std::int64_t turn, int t, std::int64_t h, const View& sum,
                    const std::optional<View>& bias) {
  const std::int64_t columns = sum.free_size();
  const View row = new_[RowOf(turn, t)].Slice(1, h, columns);
  const View affinity = tokens_.affinity(turn, t);
  const bool scale = args_.expert_affinities_scaling_mode == AffinityScalingMode::kPostScale;
  const bool accumulate = args_.is_tensor_update_accumulating;
  const bool stepwise = rounding_ == Rounding::kStepwise;
  const View old = accumulate ? old_[RowOf(turn, t)].Slice(1, h, columns) : View();
  View value = sum;
  if (bias) {
    // In place in fp32, or rounded to bf16 on the way out of PSUM.
    const View to = stepwise ? row : sum;
    nki_.tensor_tensor(to, sum, AluOp::kAdd, bias->Slice(1, h, columns));
    value = to;
  } else if (stepwise) {
    nki_.tensor_copy(row, sum);
    value = row;
  }
  if (scale && accumulate && !stepwise) {
    nki_.scalar_tensor_tensor(row, value, AluOp::kMultiply, affinity, AluOp::kAdd, old);
    return;
  }
  if (scale) {
    nki_.tensor_scalar(row, value, AluOp::kMultiply, affinity);
    value = row;
  }
  if (accumulate)
    nki_.tensor_tensor(row, value, AluOp::kAdd, old);
  else if (!scale && !stepwise)
    nki_.tensor_copy(row, value);
}

void PlaneRows::End(std::int64_t turn) {
  for (int t = 0; t < tokens_.tiles(); ++t) {
    nki_.dma_copy(plane_, new_[RowOf(turn, t)],
                  {.scatter = plane_.RowsAt(tokens_.ids(turn, t), tokens_.oob())});
  }
}

}  // namespace bwmm::kernels
