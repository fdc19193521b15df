// How the PE array treats its operands; shared by the instruction set, the ops and the engines.
#pragma once

#include <cstdint>
#include <string_view>

namespace bwmm {

enum class PeMode : std::uint8_t {
  kOrdinary,   // bf16, fp16, fp8 and parts of fp32 elements, one fused multiply-add per row
  kMx,         // x4 words with E8M0 scales, one exact group sum per 8 rows
  kTranspose,  // moves bits; the moving operand is an identity the engine makes itself
  kDoubleRow,  // two fp8 elements in each row of the array, two fused multiply-adds
};
inline constexpr int kPeModes = 4;

// Contraction elements that one row of the array holds side by side, as a free dimension in front.
constexpr int RowsInOne(PeMode mode) {
  return mode == PeMode::kDoubleRow ? 2 : 1;
}

constexpr std::string_view NameOf(PeMode mode) {
  switch (mode) {
    case PeMode::kOrdinary:
      return "ordinary";
    case PeMode::kMx:
      return "mx";
    case PeMode::kTranspose:
      return "transpose";
    case PeMode::kDoubleRow:
      return "double_row";
  }
  return "?";
}

// Half of an fp32 element's significand: what one of the four passes of an fp32 matmul multiplies.
enum class PePart : std::uint8_t {
  kHigh,  // the upper 12 bits of 24
  kLow,   // the lower 12, with the element's sign
};
inline constexpr int kPeParts = 2;

constexpr std::string_view NameOf(PePart part) {
  return part == PePart::kHigh ? "high" : "low";
}

}  // namespace bwmm
