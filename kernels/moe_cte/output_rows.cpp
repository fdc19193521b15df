#include "kernels/moe_cte/output_rows.h"

#include <algorithm>
#include <utility>

namespace bwmm::kernels {

using lang::AluOp;
using lang::Tile;
using lang::View;

namespace {

constexpr std::int64_t kRows = 128;

bool SamePlace(const isa::Operand& a, const isa::Operand& b) {
  return a.memory == b.memory && a.offset == b.offset;
}

}  // namespace

OutputRows::OutputRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
                       View plane, int tiles, const Options& options)
    : nki_(nki),
      args_(args),
      tokens_(tokens),
      plane_(std::move(plane)),
      fused_(options.rounding == Rounding::kFused),
      scale_(!options.affinity_on_I &&
             args.expert_affinities_scaling_mode == AffinityScalingMode::kPostScale),
      accumulate_(args.is_tensor_update_accumulating) {
  if (!accumulate_)
    return;
  old_ = nki.RotatingSbuf("old_rows", tiles, DType::kBf16, kRows, {args.hidden()});
  // Skipped rows keep what is there; it must be a number.
  if (args.skip_dma.skip_token) {
    for (int t = 0; t < tiles; ++t)
      nki.memset(old_[t], 0.0f);
  }
}

void OutputRows::Fetch(std::int64_t turn, int t) {
  if (accumulate_)
    nki_.dma_copy(old_[t], plane_, {.gather = plane_.RowsAt(tokens_.ids(turn, t), tokens_.oob())});
}

void OutputRows::Finish(std::int64_t turn, int t, std::int64_t h, const View& row,
                        const View& value) {
  const View affinity = tokens_.affinity(turn, t);
  const View old = accumulate_ ? old_[t].Slice(1, h, row.free_size()) : View();
  if (scale_ && accumulate_ && fused_) {
    nki_.scalar_tensor_tensor(row, value, AluOp::kMultiply, affinity, AluOp::kAdd, old);
  } else if (scale_) {
    nki_.tensor_scalar(row, value, AluOp::kMultiply, affinity);
    if (accumulate_)
      nki_.tensor_tensor(row, row, AluOp::kAdd, old);
  } else if (accumulate_) {
    nki_.tensor_tensor(row, value, AluOp::kAdd, old);
  } else if (!SamePlace(row, value)) {
    nki_.tensor_copy(row, value);
  }
}

void OutputRows::Store(std::int64_t turn, int t, const View& rows) {
  nki_.dma_copy(plane_, rows, {.scatter = plane_.RowsAt(tokens_.ids(turn, t), tokens_.oob())});
}

PlaneRows::PlaneRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
                     const View& plane, Rounding rounding)
    : nki_(nki),
      tiles_(tokens.tiles()),
      stepwise_(rounding == Rounding::kStepwise),
      new_(nki.RotatingSbuf("new_rows", tiles_, DType::kBf16, kRows, {args.hidden()})),
      output_(nki, args, tokens, plane, tiles_, {.rounding = rounding}) {}

void PlaneRows::Begin(std::int64_t turn) {
  for (int t = 0; t < tiles_; ++t)
    output_.Fetch(turn, t);
}

void PlaneRows::Add(std::int64_t turn, int t, std::int64_t h, const View& sum,
                    const std::optional<View>& bias) {
  const View row = new_[t].Slice(1, h, sum.free_size());
  // In place in fp32, or rounded to bf16 on the way out of PSUM.
  const View& value = stepwise_ ? row : sum;
  if (bias)
    nki_.tensor_tensor(value, sum, AluOp::kAdd, bias->Slice(1, h, sum.free_size()));
  else if (stepwise_)
    nki_.tensor_copy(row, sum);
  output_.Finish(turn, t, h, row, value);
}

void PlaneRows::End(std::int64_t turn) {
  for (int t = 0; t < tiles_; ++t)
    output_.Store(turn, t, new_[t]);
}

void ZeroRows(lang::Core& nki, const View& plane, std::int64_t begin, std::int64_t end) {
  if (begin >= end)
    return;
  const Tile zeros = nki.Sbuf("zeros", plane.dtype(), kRows, {plane.free_size()});
  nki.memset(zeros, 0.0f);
  for (std::int64_t row = begin; row < end; row += kRows) {
    const std::int64_t count = std::min(kRows, end - row);
    nki.dma_copy(plane.Slice(0, row, count), zeros->Slice(0, 0, count));
  }
}

void ZeroOutput(lang::Core& nki, const lang::HbmTensor& output) {
  const int cores = nki.num_programs();
  const auto cut = [&](int core) { return (output.shape[0] * core + cores - 1) / cores; };
  ZeroRows(nki, output.At(), cut(nki.program_id()), cut(nki.program_id() + 1));
  nki.core_barrier(output);
}

void ReduceOutputs(lang::Core& nki, const lang::HbmTensor& output,
                   const std::vector<View>& planes) {
  if (planes.size() == 1)
    return;
  nki.core_barrier(output);
  const std::int64_t rows = planes[0].size(0);
  const std::int64_t tiles = (rows + kRows - 1) / kRows;
  const std::int64_t first = tiles * nki.program_id() / nki.num_programs();
  const std::int64_t last = tiles * (nki.program_id() + 1) / nki.num_programs();
  const lang::RotatingTile sums =
      nki.RotatingSbuf("plane_sum", 2, output.dtype, kRows, {planes[0].free_size()});
  for (std::int64_t tile = first; tile < last; ++tile) {
    const std::int64_t count = std::min(kRows, rows - tile * kRows);
    std::vector<View> parts;
    for (const View& plane : planes)
      parts.push_back(plane.Slice(0, tile * kRows, count));
    const View sum = sums[tile].Slice(0, 0, count);
    nki.dma_compute(sum, parts);
    nki.dma_copy(parts[0], sum);
  }
  for (std::size_t plane = 1; plane < planes.size(); ++plane)
    ZeroRows(nki, planes[plane], first * kRows, std::min(last * kRows, rows));
}

}  // namespace bwmm::kernels
