// The figures of each scale group, against counting and against figures worked out by hand.
#include "model/numerics/scale_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace bwmm {
namespace {

using ::testing::ElementsAre;

// Data partitions to scale partitions, by walking K: the next group takes the next free partition
// of its quadrant.
std::vector<int> WalkedPlacement(int rows) {
  std::vector<int> placed;
  for (int quadrant = 0; quadrant < 4; ++quadrant) {
    int partition = 32 * quadrant - 1;
    for (int p = 0; p < 32; ++p) {
      partition += p % rows == 0 ? 1 : 0;
      placed.push_back(partition);
    }
  }
  return placed;
}

std::vector<int> Placement(const ScaleGroup& group) {
  std::vector<int> placed;
  for (int p = 0; p < 128; ++p)
    placed.push_back(group.ScalePartition(p));
  return placed;
}

// Partitions of the runs over `partitions` of data, in order.
std::vector<int> RunPartitions(const ScaleGroup& group, int partitions) {
  std::vector<int> all;
  int next_row = 0;
  group.ForEachScaleRun(partitions, [&](const ScaleRun& run) {
    EXPECT_EQ(run.row, next_row);
    next_row += run.count;
    for (int i = 0; i < run.count; ++i)
      all.push_back(run.partition + i);
  });
  return all;
}

std::vector<int> Starts(const ScaleGroup& group) {
  std::vector<int> starts;
  for (int p = 32; p < 64; ++p) {
    if (group.MayStartAt(p))
      starts.push_back(p - 32);
  }
  return starts;
}

TEST(ScaleGroup, MxSharesAScaleAmong32Elements) {
  EXPECT_EQ(kMxGroup.elements(), 32);
  EXPECT_EQ(kMxGroup.scale, DType::kE8M0);
  EXPECT_EQ(kMxGroup.second, SecondScale::kNone);
  EXPECT_THAT(kMxGroup.words,
              ElementsAre(DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4));
  EXPECT_TRUE(kMxGroup.Holds(DType::kFp8E5M2X4));
  EXPECT_FALSE(kMxGroup.Holds(DType::kFp8E5M2));
}

TEST(ScaleGroup, AnMxTileIs512ElementsAnd16Scales) {
  EXPECT_EQ(kMxGroup.tile_elements(), 512);
  EXPECT_EQ(kMxGroup.tile_scale_rows(), 16);
  EXPECT_EQ(kMxGroup.WordRows(2880), 720);
  EXPECT_EQ(kMxGroup.ScalesOf(2880), 90);
  EXPECT_TRUE(kMxGroup.IsWhole(96));
  EXPECT_FALSE(kMxGroup.IsWhole(100));
}

TEST(ScaleGroup, MxScalesLieFourToAQuadrant) {
  EXPECT_EQ(Placement(kMxGroup), WalkedPlacement(8));
  EXPECT_EQ(kMxGroup.ScalePartition(127), 99);
  EXPECT_THAT(RunPartitions(kMxGroup, 128),
              ElementsAre(0, 1, 2, 3, 32, 33, 34, 35, 64, 65, 66, 67, 96, 97, 98, 99));
  EXPECT_THAT(RunPartitions(kMxGroup, 33), ElementsAre(0, 1, 2, 3, 32, 33, 34, 35));
  EXPECT_THAT(Starts(kMxGroup), ElementsAre(0, 4, 8, 12));
}

TEST(ScaleGroup, RunsHoldTheScaleOfEveryDataPartition) {
  const std::vector<int> runs = RunPartitions(kMxGroup, 128);
  const std::vector<int> placed = Placement(kMxGroup);
  EXPECT_EQ(std::set<int>(runs.begin(), runs.end()), std::set<int>(placed.begin(), placed.end()));
  for (int row = 0; row < 16; ++row)
    EXPECT_EQ(kMxGroup.ScaleRowPartition(row), runs[row]);
}

// gpt-oss-20b down projection: I = 2880 padded to 3072, H = 3072.
TEST(ScaleGroup, MxWeightsHaveTheirShapesInHbm) {
  EXPECT_THAT(kMxGroup.PackedWords(3072, 3072), ElementsAre(128, 6, 3072));
  EXPECT_THAT(kMxGroup.PackedScales(3072, 3072), ElementsAre(16, 6, 3072));
}

}  // namespace
}  // namespace bwmm
