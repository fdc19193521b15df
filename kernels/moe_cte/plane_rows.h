// The end of a block in the block-shard variants: a core adds its blocks' rows to a plane of its
// own.
//
//   plane[ids] = plane[ids] + p * (sum + bias)
//
// Rounding: one fp32 operation p * x + old, then bf16 (Rounding::kFused, where the sum and its bias
// are fp32), or bf16 after sum + bias, after p * x and after + old (kStepwise, the MX variant).
// Without accumulation rows are written, not added.
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/block_tokens.h"
#include "kernels/moe_cte/cross_core_rows.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class PlaneRows {
 public:
  // `plane` [rows, H] belongs to this core alone.
  PlaneRows(lang::Core& nki, const MoeCteArgs& args, const BlockTokens& tokens, lang::View plane,
            Rounding rounding);

  // Fetches the old rows of a turn: before its first Add.
  void Begin(std::int64_t turn);
  // `sum` [128, n] are columns [h, h + n) of row tile t; `bias` is [128, H].
  void Add(std::int64_t turn, int t, std::int64_t h, const lang::View& sum,
           const std::optional<lang::View>& bias);
  // Scatters the rows of a turn: after its last Add.
  void End(std::int64_t turn);

 private:
  std::int64_t RowOf(std::int64_t turn, int t) const { return turn * tokens_.tiles() + t; }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  const BlockTokens& tokens_;
  lang::View plane_;
  Rounding rounding_;
  lang::RotatingTile old_, new_;
};

}  // namespace bwmm::kernels
