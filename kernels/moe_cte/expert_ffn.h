// One expert's FFN on one block of rows, as every variant sees it:
//
//   LoadRows     token rows of a block: ids, affinities, gathered hidden rows     DMA
//   Prepare      the rows as the projections want them: transposed, quantised     PE, Vector
//   Compute      gate, up, activation, down; sums handed out chunk by chunk       PE
//
// A turn is a block in this core's order; buffers rotate with it. LoadRows of later turns may be
// emitted early, Prepare after the Compute it must not delay. MxFfn and DenseFfn implement it.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/block_tokens.h"

namespace bwmm::kernels {

struct ComputeHooks {
  // After each sub-tile of the gate and up projections: other work the engines may do meanwhile.
  std::function<void()> between = [] {};
  // Between the last sub-tile and the first result.
  std::function<void()> before_down = [] {};
  // `sum` [128, kChunk], in PSUM or SBUF: columns [h, h + kChunk) of row tile t, without down bias.
  std::function<void(int t, std::int64_t h, const lang::View& sum)> result;
};

class ExpertFfn {
 public:
  static constexpr std::int64_t kChunk = 512;  // columns of H in one result

  virtual ~ExpertFfn() = default;

  virtual void LoadRows(std::int64_t turn, const BlockIndex& block) = 0;
  virtual void Prepare(std::int64_t turn) = 0;
  // Weights of the first turn, or of any turn no Compute announced as its next.
  virtual void LoadWeights(std::int64_t turn) = 0;
  // `next`: the turn after this one follows and its LoadRows is emitted; its weights are loaded as
  // buffers come free.
  virtual void Compute(std::int64_t turn, bool next, const ComputeHooks& hooks) = 0;

  // Calls of `between` in one Compute.
  virtual std::int64_t sub_tiles() const = 0;
  // [128, H], the same row in every partition; nullopt without a down bias.
  virtual std::optional<lang::View> down_bias(std::int64_t turn) const = 0;
};

}  // namespace bwmm::kernels
