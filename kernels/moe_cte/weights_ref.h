// Expert weights decoded to double, one panel of 16 columns by 512 contraction elements at a time.
//
// With MX weights the contraction runs in the packed order k = 512 tile + 4 p + lane, so that one
// pass is one tile and one block of 32 is contiguous; otherwise in the natural order.
#pragma once

#include <array>
#include <optional>

#include "kernels/moe_cte/moe_cte_ref.h"
#include "kernels/moe_cte/panel_ref.h"

namespace bwmm::reference {

class WeightReader {
 public:
  explicit WeightReader(const MoeCteProblem& problem);

  bool mx() const { return mx_; }

  // Place of natural index h of H, and i of I, in the contraction order.
  int OrderOfHidden(int h) const;
  int OrderOfIntermediate(int i) const;

  // Up to 512 contraction elements of 16 columns from `column` on; columns beyond the matrix are
  // zero. Gate (half 0) or up (1): elements from 512 pass on, returns how many. Down: `depth` from
  // `first` on, which with MX weights is one whole tile. fp8 weights come multiplied by the scale
  // of their channel, or kRaw.
  enum Channel { kScaled, kRaw };
  int ReadGateUp(int expert, int half, int pass, int column, Panel& panel,
                 Channel channel = kScaled) const;
  void ReadDown(int expert, int first, int depth, int column, Panel& panel,
                Channel channel = kScaled) const;
  // The fp8 scale of a channel, if there are such scales.
  std::optional<double> GateUpScale(int expert, int half, int column) const;
  std::optional<double> DownScale(int expert, int column) const;

 private:
  // Where an expert's weights lie: `halves` matrices of height x width, row by row in turn.
  struct Matrices {
    const void* words;
    const void* scales;
    std::size_t expert, half, halves, height, width;
  };
  void ReadMxTile(const Matrices& from, int tile, int column, Panel& panel) const;
  void ReadRows(const Matrices& from, int first, int depth, int column, const float* scales,
                Panel& panel) const;
  // One row of the weight tensor: `columns` words from element `at`, scales from `scale_at`.
  void DecodeMxRow(const void* words, std::size_t at, const void* scales, std::size_t scale_at,
                   int columns, double (*rows)[kColumns]) const;
  void DecodePlainRow(const void* words, std::size_t at, const float* scales, int columns,
                      double* row) const;

  const float* GateUpScales(int expert, int half) const;
  const float* DownScales(int expert) const;

  const MoeCteProblem& problem_;
  bool mx_;
  int lane_bits_ = 0;
  std::array<double, 256> element_{};
  std::array<double, 256> scale_{};
};

}  // namespace bwmm::reference
