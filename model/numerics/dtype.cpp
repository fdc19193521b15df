#include "model/numerics/dtype.h"

#include <array>
#include <utility>

namespace bwmm {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 15> kNames = {{
    {DType::kFp32, "float32"},
    {DType::kBf16, "bfloat16"},
    {DType::kFp16, "float16"},
    {DType::kFp8E4M3Fn, "float8_e4m3fn"},
    {DType::kFp8E4M3, "float8_e4m3"},
    {DType::kFp8E5M2, "float8_e5m2"},
    {DType::kFp8E4M3FnX4, "float8_e4m3fn_x4"},
    {DType::kFp8E5M2X4, "float8_e5m2_x4"},
    {DType::kFp4E2M1FnX4, "float4_e2m1fn_x4"},
    {DType::kE8M0, "float8_e8m0fnu"},
    {DType::kInt32, "int32"},
    {DType::kUint8, "uint8"},
    {DType::kInt16, "int16"},
    {DType::kUint16, "uint16"},
    {DType::kUint32, "uint32"},
}};

}  // namespace

std::string_view NameOf(DType dtype) {
  for (const auto& [value, name] : kNames) {
    if (value == dtype)
      return name;
  }
  return "?";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name)
      return value;
  }
  return std::nullopt;
}

}  // namespace bwmm
