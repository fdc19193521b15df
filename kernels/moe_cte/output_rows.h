// The output tensor's side of every variant: zero it, end a block's rows in it, sum the planes.
//
//   ids --gather--> old --+
//   sums (+ bias) = x --> row = p * x + old --scatter--> plane[ids]
//
// A row ends in one rule, OutputRows::Finish. Block-shard variants give it sums that are complete
// (PlaneRows below), I-shard variants those of all cores (cross_core_rows.h).
#pragma once

#include <optional>
#include <vector>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

// Of p * x + old: bf16 after each operation (the MX variants), or one operation in fp32, then bf16.
enum class Rounding { kStepwise, kFused };

class OutputRows {
 public:
  struct Options {
    Rounding rounding = Rounding::kStepwise;
    bool affinity_on_I = false;  // already in the sums
  };

  // Rows of `plane` [rows, H]; `tiles` row tiles of a block are in flight at once.
  OutputRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens, lang::View plane,
             int tiles, const Options& options);

  // Fetches the old rows of row tile t: before its first Finish.
  void Fetch(std::int64_t turn, int t);
  // row = p * value + old, in columns from h on of row tile t; p = 1 where the affinity is
  // elsewhere or none is asked for, old = 0 without accumulation. `value` may be the row itself.
  void Finish(std::int64_t turn, int t, std::int64_t h, const lang::View& row,
              const lang::View& value);
  // Scatters the finished rows [128, H] of row tile t.
  void Store(std::int64_t turn, int t, const lang::View& rows);

 private:
  lang::Core& nki_;
  const MoeCteArgs& args_;
  const BlockTokens& tokens_;
  lang::View plane_;
  bool fused_, scale_, accumulate_;
  lang::RotatingTile old_;
};

// The end of a block in the block-shard variants: a core adds its blocks' rows to a plane of its
// own. The sum and its bias are fp32 where the end is fused, else rounded to bf16 first.
class PlaneRows {
 public:
  // `plane` [rows, H] belongs to this core alone.
  PlaneRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens,
            const lang::View& plane, Rounding rounding);

  // Before the first Add of a turn.
  void Begin(std::int64_t turn);
  // `sum` [128, n] are columns [h, h + n) of row tile t; `bias` is [128, H].
  void Add(std::int64_t turn, int t, std::int64_t h, const lang::View& sum,
           const std::optional<lang::View>& bias);
  // After the last one.
  void End(std::int64_t turn);

 private:
  lang::Core& nki_;
  int tiles_;  // 128-row tiles of a block
  bool stepwise_;
  lang::RotatingTile new_;
  OutputRows output_;
};

// Rows [begin, end) of `plane` [rows, H] set to zero, 128 rows per DMA.
void ZeroRows(lang::Core& nki, const lang::View& plane, std::int64_t begin, std::int64_t end);

// Zeroes output [rows, H], an equal share of the rows on each core, and lets all pass when it is
// done: a row may be written by any core in the first block.
void ZeroOutput(lang::Core& nki, const lang::HbmTensor& output);

// core_barrier, then planes[0] = planes[0] + planes[1] + .. in the order of the cores (fp32,
// rounded once) and the others = 0, over all rows: of C cores, core c takes 128-row tiles from c /
// C of them (rounded down) on. The planes [rows, H], one per core, are views of `output`; one is a
// sum already.
void ReduceOutputs(lang::Core& nki, const lang::HbmTensor& output,
                   const std::vector<lang::View>& planes);

}  // namespace bwmm::kernels
