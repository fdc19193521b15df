#include "kernels/moe_cte/cross_core_rows.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::View;

namespace {

constexpr std::int64_t kChunk = 512;  // columns

}  // namespace

CrossCoreRows::CrossCoreRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
                             const Options& options)
    : nki_(nki),
      args_(args),
      tokens_(tokens),
      options_(options),
      owned_(tokens.tiles() / nki.num_programs()),
      chunks_(args.hidden() / kChunk) {
  const std::int64_t h = args.hidden();
  partial_ = nki.RotatingSbuf("partial_rows", tokens.tiles(), DType::kBf16, 128, {h});
  if (nki.num_programs() > 1)
    received_ = nki.RotatingSbuf("received_rows", owned_ * (nki.num_programs() - 1), DType::kBf16,
                                 128, {h});
  if (options.checkpoint != nullptr)
    checkpoint_ = nki.RotatingSbuf("down_checkpoint", 4, DType::kBf16, 128, {kChunk});
  if (!args.is_tensor_update_accumulating)
    return;
  old_ = nki.RotatingSbuf("old_rows", owned_, DType::kBf16, 128, {h});
  // Skipped rows keep what is there; it must be a number.
  if (args.skip_dma.skip_token) {
    for (int t = 0; t < owned_; ++t)
      nki.memset(old_[t], 0.0f);
  }
}

const View& CrossCoreRows::SumsOf(int t, int core) const {
  if (core == nki_.program_id())
    return partial_[Mine(t)];
  const int place = core < nki_.program_id() ? core : core - 1;
  return received_[t * (nki_.num_programs() - 1) + place];
}

const View& CrossCoreRows::Row(int t) const {
  return nki_.num_programs() == 1 ? partial_[t] : received_[t * (nki_.num_programs() - 1)];
}

void CrossCoreRows::Exchange(std::int64_t n, const std::optional<View>& bias) {
  const View output = args_.output.At();
  for (int t = 0; t < owned_; ++t) {
    for (int peer = 0; peer < nki_.num_programs(); ++peer) {
      if (peer != nki_.program_id())
        nki_.sendrecv(SumsOf(t, peer), partial_[TileOf(t, peer)], peer);
    }
    if (args_.is_tensor_update_accumulating)
      nki_.dma_copy(old_[t], output,
                    {.gather = output.RowsAt(tokens_.ids(n, Mine(t)), tokens_.oob())});
  }
  pending_ = n;
  bias_ = bias;
  step_ = 0;
}

void CrossCoreRows::Step(std::int64_t count) {
  for (; pending_ && count > 0 && step_ < steps(); --count, ++step_)
    StepChunk(static_cast<int>(step_ / chunks_), step_ % chunks_ * kChunk);
}

void CrossCoreRows::StepChunk(int t, std::int64_t h) {
  const View row = Row(t).Slice(1, h, kChunk);
  const View affinity = tokens_.affinity(*pending_, Mine(t));
  View value = row;
  // A checkpoint is stored from a buffer of its own: the row changes at once.
  if (options_.checkpoint != nullptr)
    value = checkpoint_[stores_++];
  View sum = SumsOf(t, 0).Slice(1, h, kChunk);
  for (int core = 1; core < nki_.num_programs(); ++core) {
    nki_.tensor_tensor(value, sum, AluOp::kAdd, SumsOf(t, core).Slice(1, h, kChunk));
    sum = value;
  }
  if (nki_.num_programs() == 1 && options_.checkpoint != nullptr)
    nki_.tensor_copy(value, sum);
  if (options_.checkpoint != nullptr) {
    const View rows = options_.checkpoint->At({*pending_}).Slice(0, Mine(t) * 128, 128);
    nki_.dma_copy(rows.Slice(1, h, kChunk), value);
  }
  if (bias_) {
    const View bias = bias_->Slice(1, h, kChunk);
    if (options_.affinity_on_I)
      nki_.scalar_tensor_tensor(row, bias, AluOp::kMultiply, affinity, AluOp::kAdd, value);
    else
      nki_.tensor_tensor(row, value, AluOp::kAdd, bias);
    value = row;
  }
  Accumulate(row, value, args_.is_tensor_update_accumulating ? old_[t].Slice(1, h, kChunk) : View(),
             affinity);
}

void CrossCoreRows::Accumulate(const View& row, const View& value, const View& old,
                               const View& affinity) {
  const bool scale = !options_.affinity_on_I &&
                     args_.expert_affinities_scaling_mode == AffinityScalingMode::kPostScale;
  const bool accumulate = args_.is_tensor_update_accumulating;
  if (scale && accumulate && options_.rounding == Rounding::kFused) {
    nki_.scalar_tensor_tensor(row, value, AluOp::kMultiply, affinity, AluOp::kAdd, old);
  } else if (scale) {
    nki_.tensor_scalar(row, value, AluOp::kMultiply, affinity);
    if (accumulate)
      nki_.tensor_tensor(row, row, AluOp::kAdd, old);
  } else if (accumulate) {
    nki_.tensor_tensor(row, value, AluOp::kAdd, old);
  } else if (options_.checkpoint != nullptr && !bias_) {
    nki_.tensor_copy(row, value);
  }
}

void CrossCoreRows::Finish(bool last) {
  if (!pending_)
    return;
  Step(steps());
  const View output = args_.output.At();
  for (int t = 0; t < owned_; ++t) {
    nki_.dma_copy(output, Row(t),
                  {.scatter = output.RowsAt(tokens_.ids(*pending_, Mine(t)), tokens_.oob())});
  }
  if (!last)
    nki_.core_barrier(args_.output);
  pending_.reset();
}

}  // namespace bwmm::kernels
