// Data types of tensors in HBM, SBUF and PSUM.
//
// An x4 type packs four elements of one contraction lane group into one word, lane 0 in the low
// bits: fp8 x4 is 32 bits, fp4 x4 is 16 bits. A tensor of an x4 type counts words, not lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bwmm {

enum class DType : std::uint8_t {
  kFp32,
  kBf16,
  kFp16,
  kFp8E4M3Fn,    // max 448, no Inf
  kFp8E4M3,      // IEEE-like, max 240, gen3 only
  kFp8E5M2,      // max 57344
  kFp8E4M3FnX4,  // 4 x e4m3fn in 32 bits
  kFp8E5M2X4,    // 4 x e5m2 in 32 bits
  kFp4E2M1FnX4,  // 4 x e2m1 in 16 bits
  kE8M0,         // a power of two, 2^(code - 127), 0xff is NaN
  kInt32,
  kUint8,
  // Carriers: frameworks without x4 types hand packed weights over in these. Bytes only.
  kInt16,
  kUint16,
  kUint32,
};

// Bytes of one element (of one word for x4 types).
constexpr int SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
    case DType::kInt32:
    case DType::kUint32:
    case DType::kFp8E4M3FnX4:
    case DType::kFp8E5M2X4:
      return 4;
    case DType::kBf16:
    case DType::kFp16:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kFp4E2M1FnX4:
      return 2;
    case DType::kFp8E4M3Fn:
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kE8M0:
    case DType::kUint8:
      return 1;
  }
  return 0;
}

constexpr bool IsX4(DType dtype) {
  return dtype == DType::kFp8E4M3FnX4 || dtype == DType::kFp8E5M2X4 || dtype == DType::kFp4E2M1FnX4;
}

// Types that are moved and never computed on.
constexpr bool IsBytesOnly(DType dtype) {
  return IsX4(dtype) || dtype == DType::kInt16 || dtype == DType::kUint16 ||
         dtype == DType::kUint32;
}

// NKI's own names: "float32", "bfloat16", "float8_e4m3fn_x4", ...
std::string_view NameOf(DType dtype);
std::optional<DType> ParseDType(std::string_view name);

}  // namespace bwmm
