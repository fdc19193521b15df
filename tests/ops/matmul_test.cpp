// Matmul and MatmulMx against a column oracle (host fma, MPFR) on corner columns and random ones.
#include "model/ops/matmul.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "model/ops/matmul_mx.h"
#include "tb/common/pe_corners.h"
#include "tb/common/pe_oracle.h"
#include "tb/common/stimulus.h"

namespace bwmm::ops {
namespace {

// Compares all outputs of one set of columns; returns how many were finite and nonzero.
int CompareOrdinary(const tb::PeCorners& columns) {
  const int m = static_cast<int>(columns.w.size());
  const int n = static_cast<int>(columns.x.size());
  std::vector<float> out(std::size_t{1} * n * m);
  Matmul({columns.w_type, columns.w_part}, tb::PeCorners::Interleave(columns.w).data(),
         {columns.x_type, columns.x_part}, tb::PeCorners::Interleave(columns.x).data(),
         columns.rows, m, n, out.data());
  int numbers = 0;
  for (int row = 0; row < n; ++row) {
    for (int c = 0; c < m; ++c) {
      const std::uint32_t expected =
          tb::OrdinaryColumn(columns.w_type, columns.w[c], columns.x_type, columns.x[row],
                             columns.w_part, columns.x_part);
      const float value = out[std::size_t{1} * row * m + c];
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), expected)
          << columns.name << " column " << c << " row " << row;
      numbers += std::isfinite(value) && value != 0;
    }
  }
  return numbers;
}

int CompareMx(const tb::PeCorners& columns) {
  const int m = static_cast<int>(columns.w.size());
  const int n = static_cast<int>(columns.x.size());
  std::vector<float> out(std::size_t{1} * n * m);
  MatmulMx(columns.w_type, tb::PeCorners::Interleave(columns.w).data(),
           tb::PeCorners::Interleave(columns.w_scale).data(), columns.x_type,
           tb::PeCorners::Interleave(columns.x).data(),
           tb::PeCorners::Interleave(columns.x_scale).data(), columns.rows, m, n, out.data());
  int numbers = 0;
  for (int row = 0; row < n; ++row) {
    for (int c = 0; c < m; ++c) {
      const std::uint32_t expected =
          tb::MxColumn(columns.w_type, columns.w[c], columns.w_scale[c], columns.x_type,
                       columns.x[row], columns.x_scale[row]);
      const float value = out[std::size_t{1} * row * m + c];
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), expected)
          << columns.name << " column " << c << " row " << row;
      numbers += std::isfinite(value) && value != 0;
    }
  }
  return numbers;
}

// Random columns of one flavour, shaped like the corners.
tb::PeCorners RandomColumns(tb::Stimulus& stimulus, PeMode mode) {
  const bool mx = mode == PeMode::kMx;
  tb::PeCorners columns{.name = "random",
                        .w_type = mx ? stimulus.MxType() : stimulus.OrdinaryType(),
                        .x_type = mx ? stimulus.MxType() : stimulus.OrdinaryType(),
                        .rows = 8 * stimulus.Between(1, 16)};
  if (!mx && stimulus.OneIn(3)) {
    columns.w_type = columns.x_type = DType::kFp32;
    columns.w_part = stimulus.Part();
    columns.x_part = stimulus.Part();
  }
  for (int c = stimulus.Between(1, 70); c > 0; --c) {
    columns.w.push_back(stimulus.Elements(columns.w_type, columns.rows));
    columns.w_scale.push_back(stimulus.Scales(columns.rows / 8));
  }
  for (int r = stimulus.Between(1, 9); r > 0; --r) {
    columns.x.push_back(stimulus.Elements(columns.x_type, columns.rows));
    columns.x_scale.push_back(stimulus.Scales(columns.rows / 8));
  }
  return columns;
}

TEST(Matmul, RoundsOncePerRowOnCornerColumns) {
  int numbers = 0;
  for (const tb::PeCorners& corners : tb::OrdinaryCorners())
    numbers += CompareOrdinary(corners);
  EXPECT_GT(numbers, 1000);
}

TEST(Matmul, MultipliesTheElementsOfADoubleRowInTurn) {
  int numbers = 0;
  for (const tb::PeCorners& corners : tb::OrdinaryCorners()) {
    if (SizeOf(corners.w_type) != 1 || SizeOf(corners.x_type) != 1)
      continue;
    const tb::PeCorners paired = corners.Paired();
    const int m = static_cast<int>(corners.w.size());
    const int n = static_cast<int>(corners.x.size());
    std::vector<float> out(std::size_t{1} * n * m);
    MatmulDoubleRow(paired.w_type, tb::PeCorners::Interleave(paired.w).data(), paired.x_type,
                    tb::PeCorners::Interleave(paired.x).data(), paired.rows, m, n, out.data());
    for (int row = 0; row < n; ++row) {
      for (int c = 0; c < m; ++c) {
        const float value = out[std::size_t{1} * row * m + c];
        EXPECT_EQ(std::bit_cast<std::uint32_t>(value),
                  tb::OrdinaryColumn(corners.w_type, corners.w[c], corners.x_type, corners.x[row]))
            << corners.name << " column " << c << " row " << row;
        numbers += std::isfinite(value) && value != 0;
      }
    }
  }
  EXPECT_GT(numbers, 500);
}

TEST(Matmul, MatchesTheFmaChainOnRandomColumns) {
  int numbers = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tb::Stimulus stimulus(seed);
    numbers += CompareOrdinary(RandomColumns(stimulus, PeMode::kOrdinary));
  }
  EXPECT_GT(numbers, 1000);
}

TEST(Matmul, ZeroRowMeetsInfiniteWeightAsNan) {
  const std::uint32_t w[] = {0x7f80, 0x3f80};
  const std::uint32_t x[] = {0};
  float out[2];
  Matmul(DType::kBf16, w, DType::kBf16, x, 1, 2, 1, out);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[0]), 0x7fc00000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[1]), 0U);
}

TEST(MatmulMx, SumsGroupsExactlyOnCornerColumns) {
  int numbers = 0;
  for (const tb::PeCorners& corners : tb::MxCorners())
    numbers += CompareMx(corners);
  EXPECT_GT(numbers, 1000);
}

TEST(MatmulMx, MatchesMpfrOnRandomColumns) {
  int numbers = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tb::Stimulus stimulus(seed);
    numbers += CompareMx(RandomColumns(stimulus, PeMode::kMx));
  }
  EXPECT_GT(numbers, 1000);
}

TEST(MatmulMx, ScaleZeroIsTwoToMinus127) {
  // 448 * 256 * 2^-127 * 2^127 = 114688, in one lane of the first row.
  std::uint32_t w[8] = {0x7e};
  std::uint32_t x[8] = {0x78};
  const std::uint8_t w_scale[] = {0x00};
  const std::uint8_t x_scale[] = {0xfe};
  float out = 0;
  MatmulMx(DType::kFp8E4M3FnX4, w, w_scale, DType::kFp8E4M3FnX4, x, x_scale, 8, 1, 1, &out);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out), 0x47e00000U);
}

}  // namespace
}  // namespace bwmm::ops
