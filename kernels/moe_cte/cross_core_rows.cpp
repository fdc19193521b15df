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
      chunks_(args.hidden() / kChunk),
      partial_(
          nki.RotatingSbuf("partial_rows", tokens.tiles(), DType::kBf16, 128, {args.hidden()})),
      received_(nki.num_programs() > 1
                    ? nki.RotatingSbuf("received_rows", owned_ * (nki.num_programs() - 1),
                                       DType::kBf16, 128, {args.hidden()})
                    : lang::RotatingTile()),
      checkpoint_(options.checkpoint != nullptr
                      ? nki.RotatingSbuf("down_checkpoint", 4, DType::kBf16, 128, {kChunk})
                      : lang::RotatingTile()),
      output_(nki, args, tokens, args.output.At(), owned_,
              {.rounding = options.rounding, .affinity_on_I = options.affinity_on_I}) {}

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
  for (int t = 0; t < owned_; ++t) {
    for (int peer = 0; peer < nki_.num_programs(); ++peer) {
      if (peer != nki_.program_id())
        nki_.sendrecv(SumsOf(t, peer), partial_[TileOf(t, peer)], peer);
    }
    output_.Fetch(n, Mine(t));
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
      nki_.scalar_tensor_tensor(row, bias, AluOp::kMultiply, tokens_.affinity(*pending_, Mine(t)),
                                AluOp::kAdd, value);
    else
      nki_.tensor_tensor(row, value, AluOp::kAdd, bias);
    value = row;
  }
  output_.Finish(*pending_, Mine(t), h, row, value);
}

void CrossCoreRows::Finish(bool last) {
  if (!pending_)
    return;
  Step(steps());
  for (int t = 0; t < owned_; ++t)
    output_.Store(*pending_, Mine(t), Row(t));
  if (!last)
    nki_.core_barrier(args_.output);
  pending_.reset();
}

}  // namespace bwmm::kernels
