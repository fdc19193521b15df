#include "tb/common/pe_corners.h"

#include <span>

#include "tb/common/stimulus.h"

namespace bwmm::tb {
namespace {

using Column = std::vector<std::uint32_t>;

template <typename T>
std::vector<T> InterleaveColumns(const std::vector<std::vector<T>>& columns) {
  std::vector<T> dense;
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    for (const auto& column : columns)
      dense.push_back(column[row]);
  }
  return dense;
}

// `pattern` repeated to `rows`.
Column Repeat(const Column& pattern, int rows) {
  Column column;
  for (int row = 0; row < rows; ++row)
    column.push_back(pattern[row % pattern.size()]);
  return column;
}

// The codes of one type that matter: zeros, ends of the subnormals and normals, ones, specials.
Column EdgeCodes(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x3f81,
              0x4b7f, 0x7f7f, 0xff7f, 0x5f80, 0x2000, 0x1f80, 0x7f80, 0xff80, 0x7fc1};
    case DType::kFp16:
      return {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0xbc00,
              0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01};
    case DType::kFp32:
      return {0x00000000, 0x80000000, 0x00000001, 0x80000fff, 0x00001000, 0x007fffff, 0x00800000,
              0x3f800000, 0xbf800001, 0x3f800fff, 0x3f801000, 0x3fffffff, 0x4b7fffff, 0x7f7fffff,
              0xff7fffff, 0x5f8abcde, 0x20000fff, 0x7f800000, 0xff800000, 0x7f800001};
    case DType::kFp8E5M2:
      return {0x00, 0x80, 0x01, 0x83, 0x04, 0x3c, 0xbc, 0x7b, 0xfb, 0x7c, 0xfc, 0x7f};
    default:  // both e4m3 types: 0x78 is 256 in one, Inf in the other
      return {0x00, 0x80, 0x01, 0x87, 0x08, 0x38, 0xb8, 0x77, 0x78, 0xf8, 0x7e, 0x7f};
  }
}

// One lane code in lane `row % 4` of a word and `rest` in the others.
std::uint32_t WordOf(DType dtype, std::uint32_t code, std::uint32_t rest, int lane) {
  const int width = dtype == DType::kFp4E2M1FnX4 ? 4 : 8;
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= (i == lane ? code : rest) << (width * i);
  return word;
}

// Largest, smallest and special lane codes of an x4 type.
Column LaneCodes(DType dtype) {
  switch (dtype) {
    case DType::kFp8E4M3FnX4:
      return {0x7e, 0xfe, 0x01, 0x81, 0x38, 0xb8, 0x0f, 0x7d, 0x00, 0x80, 0x7f};
    case DType::kFp8E5M2X4:
      return {0x7b, 0xfb, 0x01, 0x81, 0x3c, 0xbc, 0x07, 0x7a, 0x00, 0x80, 0x7c, 0xfc, 0x7e};
    default:
      return {0x7, 0xf, 0x1, 0x9, 0x2, 0xa, 0x3, 0x6, 0x0, 0x8};
  }
}

// Big terms in rows 0..2 and 4..6 of a group and one small lane in rows 3 and 7. An alternating
// column times a plain one cancels to the small products alone.
Column BigAndSmall(DType dtype, int rows, std::uint32_t small, bool alternating) {
  const Column codes = LaneCodes(dtype);
  Column column;
  for (int row = 0; row < rows; ++row) {
    const std::uint32_t big = codes[alternating && row % 8 >= 4 ? 1 : 0];
    column.push_back(row % 4 == 3 ? WordOf(dtype, small, 0, row / 8 % 4)
                                  : WordOf(dtype, big, big, 0));
  }
  return column;
}

}  // namespace

PeCorners PeCorners::Paired() const {
  PeCorners paired = *this;
  paired.rows = rows / 2;
  for (auto* columns : {&paired.w, &paired.x}) {
    for (Column& column : *columns) {
      for (int k = 0; k < paired.rows; ++k)
        column[k] = column[2 * k] | column[2 * k + 1] << 8;
      column.resize(paired.rows);
    }
  }
  return paired;
}

std::vector<std::uint32_t> PeCorners::Interleave(
    const std::vector<std::vector<std::uint32_t>>& columns) {
  return InterleaveColumns(columns);
}

std::vector<std::uint8_t> PeCorners::Interleave(
    const std::vector<std::vector<std::uint8_t>>& columns) {
  return InterleaveColumns(columns);
}

namespace {

// 24 rows of every pair of the types, filled by `fill`.
template <typename Fill>
std::vector<PeCorners> OfEachPair(std::span<const DType> types, const Fill& fill) {
  std::vector<PeCorners> all;
  for (const DType w_type : types) {
    for (const DType x_type : types) {
      all.push_back({.name = std::string(NameOf(w_type)) + " x " + std::string(NameOf(x_type)),
                     .w_type = w_type,
                     .x_type = x_type,
                     .rows = 24});
      fill(all.back());
    }
  }
  return all;
}

}  // namespace

namespace {

// A column holds one code, so that every pair of codes meets on its own and with its like; then
// mixtures of the finite ones.
void FillOrdinary(PeCorners& corners, Stimulus& stimulus) {
  const DType w_type = corners.w_type, x_type = corners.x_type;
  for (const std::uint32_t code : EdgeCodes(w_type))
    corners.w.push_back(Repeat({code}, corners.rows));
  for (const std::uint32_t code : EdgeCodes(x_type)) {
    corners.x.push_back(Repeat({code}, corners.rows));
    corners.x.push_back(Repeat({code, 0}, corners.rows));
  }
  for (int i = 0; i < 10; ++i) {
    Column w, x;
    const Column w_codes = EdgeCodes(w_type), x_codes = EdgeCodes(x_type);
    const int w_finite = static_cast<int>(w_codes.size()) - 4;
    const int x_finite = static_cast<int>(x_codes.size()) - 4;
    for (int row = 0; row < corners.rows; ++row) {
      w.push_back(w_codes[stimulus.Between(0, w_finite)]);
      x.push_back(x_codes[stimulus.Between(0, x_finite)]);
    }
    corners.w.push_back(w);
    corners.x.push_back(x);
  }
}

}  // namespace

std::vector<PeCorners> OrdinaryCorners() {
  constexpr DType kTypes[] = {DType::kBf16, DType::kFp16, DType::kFp8E4M3Fn, DType::kFp8E4M3,
                              DType::kFp8E5M2};
  constexpr PePart kParts[] = {PePart::kHigh, PePart::kLow};
  Stimulus stimulus(11);
  std::vector<PeCorners> all =
      OfEachPair(kTypes, [&](PeCorners& corners) { FillOrdinary(corners, stimulus); });
  for (const PePart w_part : kParts) {
    for (const PePart x_part : kParts) {
      all.push_back({.name = std::string(NameOf(w_part)) + " x " + std::string(NameOf(x_part)),
                     .w_type = DType::kFp32,
                     .x_type = DType::kFp32,
                     .rows = 24,
                     .w_part = w_part,
                     .x_part = x_part});
      FillOrdinary(all.back(), stimulus);
    }
  }
  return all;
}

std::vector<PeCorners> MxCorners() {
  constexpr DType kTypes[] = {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4};
  constexpr std::uint8_t kScales[] = {0x00, 0x01, 0x40, 0x6f, 0x7f, 0x90, 0xe6, 0xfe, 0xff};
  Stimulus stimulus(12);
  return OfEachPair(kTypes, [&](PeCorners& corners) {
    const DType w_type = corners.w_type, x_type = corners.x_type;
    const auto add = [&](auto& columns, auto& scales, const Column& column) {
      columns.push_back(column);
      std::vector<std::uint8_t> scale;
      for (int g = 0; g < corners.rows / 8; ++g)
        scale.push_back(kScales[stimulus.Between(0, stimulus.OneIn(3) ? 8 : 6)]);
      scales.push_back(scale);
    };
    const auto add_both = [&](DType dtype, auto& columns, auto& scales) {
      for (const std::uint32_t code : LaneCodes(dtype)) {
        add(columns, scales, Repeat({WordOf(dtype, code, code, 0)}, corners.rows));
        add(columns, scales,
            Repeat({WordOf(dtype, code, 0, 1), WordOf(dtype, 0, code, 2)}, corners.rows));
        add(columns, scales, BigAndSmall(dtype, corners.rows, code, false));
        add(columns, scales, BigAndSmall(dtype, corners.rows, code, true));
      }
    };
    add_both(w_type, corners.w, corners.w_scale);
    add_both(x_type, corners.x, corners.x_scale);
  });
}

}  // namespace bwmm::tb
