#include "model/numerics/convert.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "model/numerics/bf16.h"
#include "model/numerics/small_float.h"
#include "model/support/check.h"

namespace bwmm {
namespace {

// The contiguous loop has its own code because only a constant stride vectorizes. Neither loop may
// see the two buffers as possibly the same: `__restrict` carries the promise made in the header.
template <typename Word, typename Decode>
void WidenEach(const std::byte* source, std::ptrdiff_t stride_bytes, int count, float* out,
               Decode decode) {
  const std::byte* __restrict from = source;
  float* __restrict to = out;
  if (stride_bytes == static_cast<std::ptrdiff_t>(sizeof(Word))) {
    for (int i = 0; i < count; ++i) {
      Word word;
      std::memcpy(&word, from + static_cast<std::size_t>(i) * sizeof(Word), sizeof(Word));
      to[i] = decode(word);
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * stride_bytes, sizeof(Word));
    to[i] = decode(word);
  }
}

template <typename Word, typename Round>
void RoundEach(const float* values, int count, std::byte* target, std::ptrdiff_t stride_bytes,
               Round round) {
  const float* __restrict from = values;
  std::byte* __restrict to = target;
  if (stride_bytes == static_cast<std::ptrdiff_t>(sizeof(Word))) {
    for (int i = 0; i < count; ++i) {
      const Word word = round(from[i]);
      std::memcpy(to + static_cast<std::size_t>(i) * sizeof(Word), &word, sizeof(Word));
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const Word word = round(from[i]);
    std::memcpy(to + i * stride_bytes, &word, sizeof(Word));
  }
}

template <typename Format, typename Word>
void WidenSmall(const std::byte* source, std::ptrdiff_t stride_bytes, int count, float* out) {
  WidenEach<Word>(source, stride_bytes, count, out,
                  [](Word code) { return small_float::Decode<Format>(code); });
}

template <typename Format, typename Word>
void RoundToSmall(const float* values, int count, std::byte* target, std::ptrdiff_t stride_bytes) {
  RoundEach<Word>(values, count, target, stride_bytes, [](float value) {
    return static_cast<Word>(small_float::Round<Format, Saturate::kNo>(value));
  });
}

std::uint32_t CanonicalFp32(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  return (word & small_float::kFp32Abs) > small_float::kFp32Inf ? small_float::kFp32Nan : word;
}

std::int32_t RoundToInt32(float value) {
  constexpr float kLimit = 2147483648.0f;
  if (std::isnan(value))
    return 0;
  if (value >= kLimit)
    return INT32_MAX;
  if (value < -kLimit)
    return INT32_MIN;
  return static_cast<std::int32_t>(std::rint(value));
}

std::uint8_t RoundToUint8(float value) {
  const float low = value > 0.0f ? value : 0.0f;  // also takes NaN to 0
  const float clamped = low < 255.0f ? low : 255.0f;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::rint(clamped)));
}

}  // namespace

void Widen(DType type, const std::byte* source, std::ptrdiff_t stride_bytes, int count,
           float* out) {
  Check(count >= 0, "Widen: the count is not negative");
  switch (type) {
    case DType::kFp32:
      return WidenEach<float>(source, stride_bytes, count, out, [](float value) { return value; });
    case DType::kBf16:
      return WidenEach<std::uint16_t>(source, stride_bytes, count, out, [](std::uint16_t code) {
        return Bf16::FromBits(code).ToFloat();
      });
    case DType::kFp16:
      return WidenSmall<small_float::Fp16Format, std::uint16_t>(source, stride_bytes, count, out);
    case DType::kFp8E4M3Fn:
      return WidenSmall<small_float::E4M3FnFormat, std::uint8_t>(source, stride_bytes, count, out);
    case DType::kFp8E4M3:
      return WidenSmall<small_float::E4M3Format, std::uint8_t>(source, stride_bytes, count, out);
    case DType::kFp8E5M2:
      return WidenSmall<small_float::E5M2Format, std::uint8_t>(source, stride_bytes, count, out);
    case DType::kInt32:
      return WidenEach<std::int32_t>(source, stride_bytes, count, out,
                                     [](std::int32_t value) { return static_cast<float>(value); });
    case DType::kUint8:
    case DType::kE8M0:
      return WidenEach<std::uint8_t>(source, stride_bytes, count, out,
                                     [](std::uint8_t value) { return static_cast<float>(value); });
    case DType::kFp8E4M3FnX4:
    case DType::kFp8E5M2X4:
    case DType::kFp4E2M1FnX4:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kUint32:
      break;
  }
  Check(false, "Widen: an element type, not one of bytes only");
}

void RoundTo(DType type, const float* values, int count, std::byte* target,
             std::ptrdiff_t stride_bytes) {
  Check(count >= 0, "RoundTo: the count is not negative");
  switch (type) {
    case DType::kFp32:
      return RoundEach<std::uint32_t>(values, count, target, stride_bytes, CanonicalFp32);
    case DType::kBf16:
      return RoundEach<std::uint16_t>(values, count, target, stride_bytes,
                                      [](float value) { return Bf16::RoundFrom(value).bits(); });
    case DType::kFp16:
      return RoundToSmall<small_float::Fp16Format, std::uint16_t>(values, count, target,
                                                                  stride_bytes);
    case DType::kFp8E4M3Fn:
      return RoundToSmall<small_float::E4M3FnFormat, std::uint8_t>(values, count, target,
                                                                   stride_bytes);
    case DType::kFp8E4M3:
      return RoundToSmall<small_float::E4M3Format, std::uint8_t>(values, count, target,
                                                                 stride_bytes);
    case DType::kFp8E5M2:
      return RoundToSmall<small_float::E5M2Format, std::uint8_t>(values, count, target,
                                                                 stride_bytes);
    case DType::kInt32:
      return RoundEach<std::int32_t>(values, count, target, stride_bytes, RoundToInt32);
    case DType::kUint8:
    case DType::kE8M0:
      return RoundEach<std::uint8_t>(values, count, target, stride_bytes, RoundToUint8);
    case DType::kFp8E4M3FnX4:
    case DType::kFp8E5M2X4:
    case DType::kFp4E2M1FnX4:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kUint32:
      break;
  }
  Check(false, "RoundTo: an element type, not one of bytes only");
}

}  // namespace bwmm
