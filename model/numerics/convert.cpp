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

// What an element type is: its word, and the float a word stands for and becomes.
struct Fp32Element {
  using Word = std::uint32_t;
  static float Decode(Word word) { return std::bit_cast<float>(word); }
  static Word Encode(float value) { return CanonicalFp32(value); }
};

struct Bf16Element {
  using Word = std::uint16_t;
  static float Decode(Word word) { return Bf16::FromBits(word).ToFloat(); }
  static Word Encode(float value) { return Bf16::RoundFrom(value).bits(); }
};

template <typename Format, typename Code>
struct SmallElement {
  using Word = Code;
  static float Decode(Word word) { return small_float::Decode<Format>(word); }
  static Word Encode(float value) {
    return static_cast<Word>(small_float::Round<Format, Saturate::kNo>(value));
  }
};

struct Int32Element {
  using Word = std::int32_t;
  static float Decode(Word word) { return static_cast<float>(word); }
  static Word Encode(float value) { return RoundToInt32(value); }
};

struct Uint8Element {
  using Word = std::uint8_t;
  static float Decode(Word word) { return static_cast<float>(word); }
  static Word Encode(float value) { return RoundToUint8(value); }
};

// Calls visit with the element of the type.
template <typename Visit>
void WithElement(DType type, const Visit& visit) {
  switch (type) {
    case DType::kFp32:
      return visit(Fp32Element());
    case DType::kBf16:
      return visit(Bf16Element());
    case DType::kFp16:
      return visit(SmallElement<small_float::Fp16Format, std::uint16_t>());
    case DType::kFp8E4M3Fn:
      return visit(SmallElement<small_float::E4M3FnFormat, std::uint8_t>());
    case DType::kFp8E4M3:
      return visit(SmallElement<small_float::E4M3Format, std::uint8_t>());
    case DType::kFp8E5M2:
      return visit(SmallElement<small_float::E5M2Format, std::uint8_t>());
    case DType::kInt32:
      return visit(Int32Element());
    case DType::kUint8:
    case DType::kE8M0:
      return visit(Uint8Element());
    case DType::kFp8E4M3FnX4:
    case DType::kFp8E5M2X4:
    case DType::kFp4E2M1FnX4:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kUint32:
      break;
  }
  Check(false, "Widen, RoundTo: an element type, not one of bytes only");
}

}  // namespace

void Widen(DType type, const std::byte* source, std::ptrdiff_t stride_bytes, int count,
           float* out) {
  Check(count >= 0, "Widen: the count is not negative");
  WithElement(type, [&]<typename Element>(Element) {
    WidenEach<typename Element::Word>(source, stride_bytes, count, out,
                                      [](auto word) { return Element::Decode(word); });
  });
}

void RoundTo(DType type, const float* values, int count, std::byte* target,
             std::ptrdiff_t stride_bytes) {
  Check(count >= 0, "RoundTo: the count is not negative");
  WithElement(type, [&]<typename Element>(Element) {
    RoundEach<typename Element::Word>(values, count, target, stride_bytes,
                                      [](float value) { return Element::Encode(value); });
  });
}

}  // namespace bwmm
