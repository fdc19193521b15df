#include "model/ops/quantize_mx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "model/numerics/bf16.h"
#include "model/numerics/e8m0.h"
#include "model/numerics/encode.h"
#include "model/numerics/fp16.h"
#include "model/numerics/fp8.h"
#include "model/numerics/scale_group.h"
#include "model/support/check.h"

namespace bwmm::ops {
namespace {

static_assert(std::endian::native == std::endian::little, "lane 0 of a word is its first byte");

constexpr int kGroupRows = kMxGroup.rows;
constexpr int kLanes = kMxGroup.lanes;
constexpr int kChunkColumns = 128;  // the working arrays of a chunk stay in the first-level cache

// One strip of groups, at most kChunkColumns columns wide. `Source` is Bf16 or Fp16, `Target` an
// Fp8. Passes: maxima of the groups, scales, elements; each runs along a row, so each vectorizes.
template <typename Source, typename Target>
void QuantizeStrip(int headroom, const std::uint16_t* data, int columns, int row_columns,
                   std::uint32_t* words, std::uint8_t* scales) {
  const std::size_t stride = static_cast<std::size_t>(row_columns);
  const int elements = kLanes * columns;

  // Magnitudes of bf16 and fp16 order like their bits; Inf and NaN come out on top.
  std::array<std::uint16_t, kLanes * kChunkColumns> maxima{};
  for (int row = 0; row < kGroupRows; ++row) {
    const std::uint16_t* from = data + row * stride * kLanes;
    for (int i = 0; i < elements; ++i)
      maxima[i] = std::max<std::uint16_t>(maxima[i], from[i] & 0x7fff);
  }

  std::array<float, kLanes * kChunkColumns> inverse;
  for (int column = 0; column < columns; ++column) {
    const std::uint16_t* lanes = &maxima[kLanes * column];
    const std::uint16_t amax = std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
    const E8M0 scale = E8M0::ForLargest(Source::FromBits(amax).ToFloat(), headroom);
    scales[column] = scale.bits();
    std::fill_n(&inverse[kLanes * column], kLanes, scale.Inverse());
  }

  // The product V / X is exact unless it falls below 2^-149, far under half of the smallest fp8
  // subnormal, where its rounding cannot change the code.
  for (int row = 0; row < kGroupRows; ++row) {
    const std::uint16_t* from = data + row * stride * kLanes;
    std::array<std::uint8_t, kLanes * kChunkColumns> codes;
    for (int i = 0; i < elements; ++i) {
      const float scaled = Source::FromBits(from[i]).ToFloat() * inverse[i];
      codes[i] = Target::RoundFrom(scaled, Saturate::kYes).bits();
    }
    std::memcpy(words + row * stride, codes.data(), static_cast<std::size_t>(elements));
  }
}

template <typename Source, typename Target>
void Quantize(int headroom, const std::uint16_t* data, int rows, int columns, std::uint32_t* words,
              std::uint8_t* scales) {
  for (int row = 0; row < rows; row += kGroupRows) {
    const std::size_t first = static_cast<std::size_t>(row) * columns;
    for (int column = 0; column < columns; column += kChunkColumns) {
      QuantizeStrip<Source, Target>(headroom, data + (first + column) * kLanes,
                                    std::min(kChunkColumns, columns - column), columns,
                                    words + first + column, scales + first / kGroupRows + column);
    }
  }
}

}  // namespace

void QuantizeMx(DType source, DType target, ScaleRule rule, const std::uint16_t* data, int rows,
                int columns, std::uint32_t* words, std::uint8_t* scales) {
  Check(rows >= 0 && kMxGroup.IsWhole(rows) && columns >= 0, "QuantizeMx: whole scale groups");
  Check(source == DType::kBf16 || source == DType::kFp16, "QuantizeMx: bf16 or fp16 in");
  Check(target == DType::kFp8E4M3FnX4 || target == DType::kFp8E5M2X4,
        "QuantizeMx: e4m3fn x4 or e5m2 x4 out");
  const bool e4m3 = target == DType::kFp8E4M3FnX4;
  // Exponent of the binade that V / X of the largest element falls into: emax under the OCP rule,
  // one less under x2, which leaves room for rounding up.
  const int headroom = LargestExponent(target) - (rule == ScaleRule::kX2 ? 1 : 0);
  if (source == DType::kBf16) {
    if (e4m3)
      return Quantize<Bf16, Fp8E4M3Fn>(headroom, data, rows, columns, words, scales);
    return Quantize<Bf16, Fp8E5M2>(headroom, data, rows, columns, words, scales);
  }
  if (e4m3)
    return Quantize<Fp16, Fp8E4M3Fn>(headroom, data, rows, columns, words, scales);
  return Quantize<Fp16, Fp8E5M2>(headroom, data, rows, columns, words, scales);
}

}  // namespace bwmm::ops
