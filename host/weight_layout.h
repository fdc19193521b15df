// The types of expert weights in HBM; layer_data.h draws their layouts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/numerics/dtype.h"

namespace bwmm::host {

enum class WeightLayout : std::uint8_t {
  kBf16,
  kFp8,        // e4m3fn elements, one fp32 scale per expert and output channel
  kMxfp4,      // e2m1 x4 words with E8M0 scales
  kMxfp8E4M3,  // e4m3fn x4
  kMxfp8E5M2,  // e5m2 x4
};

inline constexpr std::array<std::string_view, 5> kWeightLayoutNames = {"bf16", "fp8", "mxfp4",
                                                                       "mxfp8_e4m3", "mxfp8_e5m2"};

constexpr std::string_view NameOf(WeightLayout layout) {
  return kWeightLayoutNames[static_cast<std::size_t>(layout)];
}

constexpr bool IsMx(WeightLayout layout) {
  return layout != WeightLayout::kBf16 && layout != WeightLayout::kFp8;
}

// The type of one weight word.
constexpr DType WeightDType(WeightLayout layout) {
  switch (layout) {
    case WeightLayout::kBf16:
      return DType::kBf16;
    case WeightLayout::kFp8:
      return DType::kFp8E4M3Fn;
    case WeightLayout::kMxfp4:
      return DType::kFp4E2M1FnX4;
    case WeightLayout::kMxfp8E4M3:
      return DType::kFp8E4M3FnX4;
    case WeightLayout::kMxfp8E5M2:
      return DType::kFp8E5M2X4;
  }
  return DType::kBf16;
}

}  // namespace bwmm::host
