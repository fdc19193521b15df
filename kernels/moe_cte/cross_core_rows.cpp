#include "kernels/moe_cte/cross_core_rows.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::View;

namespace {

constexpr std::int64_t kChunk = 512;  // columns

}  // namespace

CrossCoreRows::CrossCoreRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens)
    : nki_(nki),
      args_(args),
      tokens_(tokens),
      owned_(tokens.tiles() / 2),
      chunks_(args.hidden() / kChunk) {
  const std::int64_t h = args.hidden();
  partial_ = nki.RotatingSbuf("partial_rows", tokens.tiles(), DType::kBf16, 128, {h});
  received_ = nki.RotatingSbuf("received_rows", owned_, DType::kBf16, 128, {h});
  old_ = nki.RotatingSbuf("old_rows", owned_, DType::kBf16, 128, {h});
}

void CrossCoreRows::Exchange(std::int64_t n, const std::optional<View>& bias) {
  const View output = args_.output.At();
  for (int t = 0; t < owned_; ++t) {
    nki_.sendrecv(received_[t], partial_[Peers(t)], 1 - nki_.program_id());
    nki_.dma_copy(old_[t], output, {.gather = output.RowsAt(tokens_.ids(n, Mine(t)))});
  }
  pending_ = n;
  bias_ = bias;
  step_ = 0;
}

void CrossCoreRows::Step(std::int64_t count) {
  for (; pending_ && count > 0 && step_ < steps(); --count, ++step_) {
    const int t = static_cast<int>(step_ / chunks_);
    const std::int64_t h = step_ % chunks_ * kChunk;
    const View sum = received_[t].Slice(1, h, kChunk);
    nki_.tensor_tensor(sum, partial_[Mine(t)].Slice(1, h, kChunk), AluOp::kAdd, sum);
    if (bias_)
      nki_.tensor_tensor(sum, sum, AluOp::kAdd, bias_->Slice(1, h, kChunk));
    if (args_.expert_affinities_scaling_mode == AffinityScalingMode::kPostScale)
      nki_.tensor_scalar(sum, sum, AluOp::kMultiply, tokens_.affinity(*pending_, Mine(t)));
    nki_.tensor_tensor(sum, sum, AluOp::kAdd, old_[t].Slice(1, h, kChunk));
  }
}

void CrossCoreRows::Finish() {
  if (!pending_)
    return;
  Step(steps());
  const View output = args_.output.At();
  for (int t = 0; t < owned_; ++t) {
    nki_.dma_copy(output, received_[t],
                  {.scatter = output.RowsAt(tokens_.ids(*pending_, Mine(t)))});
  }
  if (*pending_ + 1 < args_.blocks())
    nki_.core_barrier(args_.output);
  pending_.reset();
}

}  // namespace bwmm::kernels
