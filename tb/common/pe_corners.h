// Columns that are hard for a PE, as whole matmuls: every stationary column against every moving
// row. The names say what each is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/isa/pe_mode.h"
#include "model/numerics/dtype.h"

namespace bwmm::tb {

// Operands column by column, all `rows` long. Scales are [rows / 8] per column, MX only.
struct PeCorners {
  std::string name;
  DType w_type = DType::kBf16;
  DType x_type = DType::kBf16;
  int rows = 0;
  std::vector<std::vector<std::uint32_t>> w = {};  // [m][rows]
  std::vector<std::vector<std::uint32_t>> x = {};  // [n][rows]
  std::vector<std::vector<std::uint8_t>> w_scale = {};
  std::vector<std::vector<std::uint8_t>> x_scale = {};
  std::optional<PePart> w_part = std::nullopt, x_part = std::nullopt;  // fp32 only

  // Rows 2 k and 2 k + 1 as the two elements of row k, for double_row mode; of fp8 columns.
  PeCorners Paired() const;

  // The engine's layout: [rows][count].
  static std::vector<std::uint32_t> Interleave(
      const std::vector<std::vector<std::uint32_t>>& columns);
  static std::vector<std::uint8_t> Interleave(
      const std::vector<std::vector<std::uint8_t>>& columns);
};

// bf16, fp16 and fp8 pairs, and the four passes of fp32: cancellation, underflow into and out of
// subnormals, overflow in the middle of a column, signed zeros, Inf and NaN.
std::vector<PeCorners> OrdinaryCorners();

// All pairs of x4 types: group sums that cancel to the last bit, sums wider than 53 bits, scales at
// both ends and 0xff, results at the edge of underflow and overflow, ties, Inf and NaN.
std::vector<PeCorners> MxCorners();

}  // namespace bwmm::tb
