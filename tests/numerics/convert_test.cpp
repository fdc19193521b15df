// Bulk conversion against the format tables, at every kind of stride.
#include "model/numerics/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "model/support/check.h"
#include "tests/numerics/format_oracle.h"

namespace bwmm {
namespace {

constexpr std::uint32_t kSeed = 20260101;
constexpr DType kElementTypes[] = {DType::kFp32,      DType::kBf16,    DType::kFp16,
                                   DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2,
                                   DType::kE8M0,      DType::kInt32,   DType::kUint8};
constexpr DType kX4Types[] = {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4};

// The table of a small float type, nothing for the others.
const test::FormatOracle* OracleOf(DType type) {
  switch (type) {
    case DType::kBf16:
      return &test::Bf16Oracle();
    case DType::kFp16:
      return &test::Fp16Oracle();
    case DType::kFp8E4M3Fn:
      return &test::E4M3FnOracle();
    case DType::kFp8E4M3:
      return &test::E4M3Oracle();
    case DType::kFp8E5M2:
      return &test::E5M2Oracle();
    default:
      return nullptr;
  }
}

// The fp32 value of an element, from the definition of its type.
float ExpectedValue(DType type, std::uint32_t bits) {
  if (type == DType::kFp32)
    return std::bit_cast<float>(bits);
  if (type == DType::kInt32)
    return static_cast<float>(static_cast<double>(static_cast<std::int32_t>(bits)));
  if (type == DType::kUint8 || type == DType::kE8M0)
    return static_cast<float>(bits);
  const double value = OracleOf(type)->Value(static_cast<int>(bits));
  if (type == DType::kBf16 && std::isnan(value))
    return std::bit_cast<float>(bits << 16);
  return test::AsFloat(value);
}

// The element an fp32 value rounds to, from the definition of its type.
std::uint32_t ExpectedBits(DType type, float value) {
  if (type == DType::kFp32)
    return std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value);
  if (const test::FormatOracle* oracle = OracleOf(type)) {
    const int inf = oracle->format.inf_code;
    return static_cast<std::uint32_t>(
        oracle->Round(value, inf >= 0 ? inf : oracle->format.nan_code));
  }
  if (std::isnan(value))
    return 0;
  const double low = type == DType::kInt32 ? std::numeric_limits<std::int32_t>::min() : 0;
  const double high = type == DType::kInt32 ? std::numeric_limits<std::int32_t>::max() : 255;
  const double whole = std::floor(value);
  const double rest = value - whole;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) != 0.0);
  const double rounded = std::isinf(value) ? value : whole + (up ? 1.0 : 0.0);
  return static_cast<std::uint32_t>(
      static_cast<std::int64_t>(std::min(std::max(rounded, low), high)));
}

std::uint32_t Load(const std::byte* source, int size) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, source, static_cast<std::size_t>(size));
  return bits;
}

// Contiguous, gapped, unaligned, backwards, and all elements in one place (a broadcast).
std::vector<std::ptrdiff_t> Strides(int size) {
  return {size, size + 1, 2 * size, 64 + size, -size, -3 * size, 0};
}

// `count` elements at `stride` inside a buffer; first() is where element 0 starts.
struct Elements {
  Elements(int count, std::ptrdiff_t stride, int size)
      : bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(std::abs(stride)) +
                  static_cast<std::size_t>(size),
              std::byte{0xa5}),
        offset(stride < 0 ? -stride * (count - 1) : 0) {}
  std::byte* first() { return bytes.data() + offset; }

  std::vector<std::byte> bytes;
  std::ptrdiff_t offset;
};

TEST(Convert, WidensEveryTypeAtEveryStride) {
  std::mt19937 random(kSeed);
  for (const DType type : kElementTypes) {
    const int size = SizeOf(type);
    for (const std::ptrdiff_t stride : Strides(size)) {
      for (const int count : {1, 15, 16, 17, 1000}) {
        Elements elements(count, stride, size);
        for (std::byte& byte : elements.bytes)
          byte = static_cast<std::byte>(random());
        std::vector<float> out(count + 1, 42.0f);
        Widen(type, elements.first(), stride, count, out.data());
        for (int i = 0; i < count; ++i) {
          const std::uint32_t bits = Load(elements.first() + i * stride, size);
          ASSERT_TRUE(test::SameBits(out[i], ExpectedValue(type, bits)))
              << NameOf(type) << " " << bits << ", stride " << stride << ", seed " << kSeed;
        }
        EXPECT_EQ(out[count], 42.0f);
      }
    }
  }
}

TEST(Convert, WidensEveryCodeOfTheSmallTypes) {
  for (const DType type : kElementTypes) {
    const int size = SizeOf(type);
    if (size > 2)
      continue;
    const int codes = 1 << (8 * size);
    std::vector<std::byte> bytes(codes * size);
    for (int code = 0; code < codes; ++code)
      std::memcpy(&bytes[code * size], &code, static_cast<std::size_t>(size));
    std::vector<float> out(codes);
    Widen(type, bytes.data(), size, codes, out.data());
    for (int code = 0; code < codes; ++code)
      ASSERT_TRUE(test::SameBits(out[code], ExpectedValue(type, code)))
          << NameOf(type) << " " << code;
  }
}

TEST(Convert, RoundsRoundingCornersOfEveryType) {
  for (const DType type : kElementTypes) {
    const int size = SizeOf(type);
    const test::FormatOracle* oracle = OracleOf(type);
    std::vector<float> inputs = test::RoundingInputs(oracle ? *oracle : test::Bf16Oracle(), kSeed);
    for (int halves = -600; halves <= 600; ++halves)
      inputs.push_back(static_cast<float>(halves) * 0.5f);
    for (const float edge : {2147483648.0f, 2147483520.0f, 4294967296.0f, 8388607.5f, 8388606.5f}) {
      inputs.push_back(edge);
      inputs.push_back(-edge);
    }
    const int count = static_cast<int>(inputs.size());
    std::vector<std::byte> bytes(inputs.size() * size);
    RoundTo(type, inputs.data(), count, bytes.data(), size);
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(Load(&bytes[static_cast<std::size_t>(i) * size], size),
                ExpectedBits(type, inputs[i]))
          << NameOf(type) << " from " << std::hexfloat << inputs[i] << ", seed " << kSeed;
    }
  }
}

TEST(Convert, RoundsEveryTypeAtEveryStrideAndLeavesTheGapsAlone) {
  std::mt19937 random(kSeed);
  for (const DType type : kElementTypes) {
    const int size = SizeOf(type);
    for (const std::ptrdiff_t stride : Strides(size)) {
      for (const int count : {1, 15, 16, 17, 1000}) {
        std::vector<float> values(count);
        for (float& value : values)
          value = (static_cast<float>(random()) * 0x1p-32f - 0.4f) * 500.0f;
        Elements elements(count, stride, size);
        std::vector<std::byte> expected = elements.bytes;
        for (int i = 0; i < count; ++i) {
          const std::uint32_t bits = ExpectedBits(type, values[i]);
          std::memcpy(&expected[elements.offset + i * stride], &bits,
                      static_cast<std::size_t>(size));
        }
        RoundTo(type, values.data(), count, elements.first(), stride);
        ASSERT_EQ(elements.bytes, expected)
            << NameOf(type) << ", stride " << stride << ", count " << count << ", seed " << kSeed;
      }
    }
  }
}

TEST(Convert, NothingIsDoneForNoElements) {
  for (const DType type : kElementTypes) {
    Widen(type, nullptr, SizeOf(type), 0, nullptr);
    RoundTo(type, nullptr, 0, nullptr, SizeOf(type));
  }
}

TEST(Convert, RejectsX4Types) {
  std::array<std::byte, 4> word{};
  float value = 0;
  for (const DType type : kX4Types) {
    EXPECT_THROW(Widen(type, word.data(), 4, 1, &value), CheckFailure);
    EXPECT_THROW(RoundTo(type, &value, 1, word.data(), 4), CheckFailure);
  }
}

TEST(Convert, RejectsNegativeCounts) {
  EXPECT_THROW(Widen(DType::kFp32, nullptr, 4, -1, nullptr), CheckFailure);
  EXPECT_THROW(RoundTo(DType::kFp32, nullptr, -1, nullptr, 4), CheckFailure);
}

}  // namespace
}  // namespace bwmm
