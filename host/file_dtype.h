// Element types as files name them, and how one becomes a DType.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/host_tensor.h"

namespace bwmm::host {

struct FileType {
  std::string_view name;        // in the file
  int bytes;                    // of one element in the file
  std::optional<DType> plain;   // what it is when the caller says nothing
  std::span<const DType> also;  // what the caller may say it carries
};

// The part of a file that holds one tensor, not yet interpreted.
struct RawTensor {
  std::string name = {};
  const FileType* type = nullptr;
  std::optional<DType> named = std::nullopt;  // the file says what its carrier holds
  std::vector<std::int64_t> shape = {};
  std::span<const std::byte> bytes = {};
};

// What the reader of a tensor knows of its type.
struct WantedType {
  std::optional<DType> as = std::nullopt;  // it is this one
  // The first of these that a carrier can hold, where neither `as` nor the file names a type.
  std::vector<DType> carried = {};
};

// Copies and, for float64 and int64, converts. `place` opens every error text.
HostTensor Interpret(const RawTensor& raw, const WantedType& wanted, const std::string& place);

// elements * bytes per element of a shape, refusing negative extents and 64-bit overflow.
std::int64_t BytesOfShape(const std::vector<std::int64_t>& shape, int element_bytes,
                          const std::string& place);

inline constexpr std::array kIn8Bits = {DType::kUint8, DType::kE8M0, DType::kFp8E4M3Fn,
                                        DType::kFp8E4M3, DType::kFp8E5M2};
inline constexpr std::array kIn16Bits = {DType::kBf16, DType::kFp4E2M1FnX4};
inline constexpr std::array kIn32Bits = {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4};

// The float64 and int64 entries of both formats: converted on the way in.
inline constexpr std::string_view kNpyFloat64 = "<f8";
inline constexpr std::string_view kNpyInt64 = "<i8";
inline constexpr std::string_view kSafetensorsInt64 = "I64";

}  // namespace bwmm::host
