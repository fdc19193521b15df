// Corner columns through the Verilated engine, against the column oracle: nothing here goes through
// model/ops.
#include <gtest/gtest.h>

#include <memory>

#include "model/engine/make_engines.h"
#include "tb/common/pe_corners.h"
#include "tb/common/pe_oracle.h"

namespace bwmm::engine {
namespace {

// Runs one set of columns and returns PSUM rows 0..n-1.
std::vector<std::vector<std::uint32_t>> RunOnRtl(TensorEngine& engine, PeMode mode,
                                                 const tb::PeCorners& columns) {
  const int m = static_cast<int>(columns.w.size());
  const int n = static_cast<int>(columns.x.size());
  const bool mx = mode == PeMode::kMx;
  LoadCommand load;
  load.id = 1;
  load.mode = mode;
  load.dtype = columns.w_type;
  load.part = columns.w_part;
  load.rows = columns.rows;
  load.cols = m;
  load.data = tb::PeCorners::Interleave(columns.w);
  MoveCommand move;
  move.id = 2;
  move.mode = mode;
  move.dtype = columns.x_type;
  move.part = columns.x_part;
  move.rows = columns.rows;
  move.n = n;
  move.data = tb::PeCorners::Interleave(columns.x);
  if (mx) {
    load.scales = tb::PeCorners::Interleave(columns.w_scale);
    move.scales = tb::PeCorners::Interleave(columns.x_scale);
  }
  engine.Push(std::move(load));
  engine.Push(std::move(move));
  engine.AdvanceTo(engine.cycle() + 2000);
  EXPECT_FALSE(engine.NextEventCycle());
  std::vector<std::vector<std::uint32_t>> rows(n, std::vector<std::uint32_t>(128));
  for (int row = 0; row < n; ++row)
    engine.ReadPsum(row, rows[row]);
  return rows;
}

TEST(TensorEngineCorners, OrdinaryColumnsRoundOncePerRow) {
  const auto engine = MakeRtlTensorEngine({});
  int checked = 0;
  for (const tb::PeCorners& columns : tb::OrdinaryCorners()) {
    const auto rows = RunOnRtl(*engine, PeMode::kOrdinary, columns);
    for (std::size_t r = 0; r < columns.x.size(); ++r) {
      for (std::size_t c = 0; c < columns.w.size(); ++c, ++checked)
        ASSERT_EQ(rows[r][c], tb::OrdinaryColumn(columns.w_type, columns.w[c], columns.x_type,
                                                 columns.x[r], columns.w_part, columns.x_part))
            << columns.name << " column " << c << " row " << r;
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST(TensorEngineCorners, DoubleRowsRoundTwicePerRow) {
  const auto engine = MakeRtlTensorEngine({});
  int checked = 0;
  for (const tb::PeCorners& columns : tb::OrdinaryCorners()) {
    if (SizeOf(columns.w_type) != 1 || SizeOf(columns.x_type) != 1)
      continue;
    const auto rows = RunOnRtl(*engine, PeMode::kDoubleRow, columns.Paired());
    for (std::size_t r = 0; r < columns.x.size(); ++r) {
      for (std::size_t c = 0; c < columns.w.size(); ++c, ++checked)
        ASSERT_EQ(rows[r][c],
                  tb::OrdinaryColumn(columns.w_type, columns.w[c], columns.x_type, columns.x[r]))
            << columns.name << " column " << c << " row " << r;
    }
  }
  EXPECT_GT(checked, 3000);
}

TEST(TensorEngineCorners, MxColumnsSumGroupsExactly) {
  const auto engine = MakeRtlTensorEngine({});
  int checked = 0;
  for (const tb::PeCorners& columns : tb::MxCorners()) {
    const auto rows = RunOnRtl(*engine, PeMode::kMx, columns);
    for (std::size_t r = 0; r < columns.x.size(); ++r) {
      for (std::size_t c = 0; c < columns.w.size(); ++c, ++checked)
        ASSERT_EQ(rows[r][c], tb::MxColumn(columns.w_type, columns.w[c], columns.w_scale[c],
                                           columns.x_type, columns.x[r], columns.x_scale[r]))
            << columns.name << " column " << c << " row " << r;
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST(TensorEngineCorners, TransposeMovesEveryBit) {
  const auto engine = MakeRtlTensorEngine({});
  constexpr std::uint32_t kWords[] = {0x7fa12345, 0x80000000, 0xffffffff, 0x00000001, 0xff800001};
  LoadCommand load;
  load.id = 1;
  load.mode = PeMode::kTranspose;
  load.dtype = DType::kFp32;
  load.rows = 100;
  load.cols = 77;
  for (int i = 0; i < load.rows * load.cols; ++i)
    load.data.push_back(kWords[i % 5] ^ static_cast<std::uint32_t>(i / 5));
  MoveCommand move;
  move.id = 2;
  move.mode = PeMode::kTranspose;
  move.dtype = DType::kFp32;
  move.rows = load.rows;
  move.n = load.rows;
  engine->Push(load);
  engine->Push(std::move(move));
  engine->AdvanceTo(2000);
  std::vector<std::uint32_t> lanes(128);
  for (int row = 0; row < load.rows; ++row) {
    engine->ReadPsum(row, lanes);
    for (int c = 0; c < load.cols; ++c)
      ASSERT_EQ(lanes[c], load.data[row * load.cols + c]) << "row " << row << " column " << c;
  }
}

}  // namespace
}  // namespace bwmm::engine
