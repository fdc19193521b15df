#include "model/ops/mx_group.h"

#include <algorithm>
#include <cmath>

#include "model/ops/pe_decode.h"

namespace bwmm::ops {
namespace {

constexpr std::uint8_t kE4M3Span = 18;  // 2^-9 to below 2^9
constexpr std::uint8_t kE2M1Span = 4;   // 2^-1 to below 2^3

}  // namespace

MxOperand::MxOperand(DType type, const std::uint32_t* words, const std::uint8_t* scales, int k,
                     int columns, int first, int count, int stride_in)
    : stride(stride_in),
      values(static_cast<std::size_t>(k) * kGroupLanes * stride_in),
      scale(static_cast<std::size_t>(kMxGroup.ScaleRows(k)) * stride_in, 1.0),
      span(scale.size()) {
  for (int g = 0; g < kMxGroup.ScaleRows(k); ++g) {
    for (int c = 0; c < count; ++c) {
      const std::uint8_t code = scales[static_cast<std::ptrdiff_t>(g) * columns + first + c];
      scale[static_cast<std::size_t>(g) * stride + c] = DecodeScale(code);
      finite = finite && code != 0xff;
    }
  }
  // Only E5M2 spans enough bits to be worth measuring; the others take their type's whole range.
  const bool measured = type == DType::kFp8E5M2X4;
  if (!measured)
    std::fill(span.begin(), span.end(), type == DType::kFp4E2M1FnX4 ? kE2M1Span : kE4M3Span);
  const ElementDecoder decode(type);
  std::vector<ElementSpan> spans(measured ? count : 0);
  for (int row = 0; row < k; ++row) {
    if (row % kGroupRows == 0)
      std::fill(spans.begin(), spans.end(), ElementSpan());
    double* lanes = values.data() + static_cast<std::size_t>(row) * kGroupLanes * stride;
    for (int c = 0; c < count; ++c) {
      const std::uint32_t word = words[static_cast<std::ptrdiff_t>(row) * columns + first + c];
      for (int lane = 0; lane < kGroupLanes; ++lane) {
        const float value = decode.Lane(word, lane);
        lanes[lane * stride + c] = value;
        finite = finite && std::isfinite(value);
        zero = zero && value == 0.0F;
        if (measured)
          spans[c].Add(value);
      }
      if (measured && row % kGroupRows == kGroupRows - 1)
        span[static_cast<std::size_t>(row / kGroupRows) * stride + c] =
            static_cast<std::uint8_t>(spans[c].bits());
    }
  }
}

float ExactGroup(const MxOperand& w, int c, const MxOperand& x, int r, int g) {
  constexpr int kUnit = 16;  // the last place of an E5M2 subnormal is 2^-16, its range 2^16
  const auto units = [](double value) {
    return static_cast<std::int64_t>(value * (std::int64_t{1} << kUnit));
  };
  __int128 sum = 0;
  for (int row = g * kGroupRows; row < (g + 1) * kGroupRows; ++row) {
    for (int lane = 0; lane < kGroupLanes; ++lane) {
      sum += static_cast<__int128>(units(w.lanes(row)[lane * w.stride + c])) *
             units(x.lanes(row)[lane * x.stride + r]);
    }
  }
  // Down to 53 bits with a sticky last one: the rounding to fp32 then sees what it needs.
  unsigned __int128 magnitude = sum < 0 ? -static_cast<unsigned __int128>(sum) : sum;
  int exponent = -2 * kUnit;
  while (magnitude >> 53 != 0) {
    magnitude = (magnitude >> 1) | (magnitude & 1);
    ++exponent;
  }
  const double scaled =
      std::ldexp(static_cast<double>(static_cast<std::uint64_t>(magnitude)), exponent) *
      w.scale[static_cast<std::size_t>(g) * w.stride + c] *
      x.scale[static_cast<std::size_t>(g) * x.stride + r];
  return static_cast<float>(sum < 0 ? -scaled : scaled);
}

}  // namespace bwmm::ops
