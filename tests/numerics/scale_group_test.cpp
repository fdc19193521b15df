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

TEST(ScaleGroup, Nvfp4SharesAnE4M3ScaleAmong16Elements) {
  EXPECT_EQ(kNvfp4Group.elements(), 16);
  EXPECT_EQ(kNvfp4Group.scale, DType::kFp8E4M3Fn);
  EXPECT_EQ(kNvfp4Group.second, SecondScale::kFp32PerTensor);
  EXPECT_THAT(kNvfp4Group.words, ElementsAre(DType::kFp4E2M1FnX4));
}

TEST(ScaleGroup, AnNvfp4TileIs512ElementsAnd32Scales) {
  EXPECT_EQ(kNvfp4Group.tile_elements(), 512);
  EXPECT_EQ(kNvfp4Group.tile_scale_rows(), 32);
  EXPECT_EQ(kNvfp4Group.WordRows(2048), 512);
  EXPECT_EQ(kNvfp4Group.ScalesOf(2048), 128);
  EXPECT_TRUE(kNvfp4Group.IsWhole(100));
  EXPECT_FALSE(kNvfp4Group.IsWhole(102));
}

TEST(ScaleGroup, Nvfp4ScalesLieEightToAQuadrant) {
  EXPECT_EQ(Placement(kNvfp4Group), WalkedPlacement(4));
  EXPECT_EQ(kNvfp4Group.ScalePartition(127), 103);
  EXPECT_EQ(kNvfp4Group.ScaleRowPartition(31), 103);
  EXPECT_THAT(RunPartitions(kNvfp4Group, 64),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35, 36, 37, 38, 39));
  EXPECT_THAT(Starts(kNvfp4Group), ElementsAre(0, 8, 16, 24));
}

// Gate and up of one expert, H = 2048 and 2 I = 1024: 1,048,576 bytes of codes and 131,072 of
// scales, 4.5 bits an element.
TEST(ScaleGroup, Nvfp4WeightsHaveTheirShapesInHbm) {
  EXPECT_THAT(kNvfp4Group.PackedWords(2048, 1024), ElementsAre(128, 4, 1024));
  EXPECT_THAT(kNvfp4Group.PackedScales(2048, 1024), ElementsAre(32, 4, 1024));
  EXPECT_EQ(128 * 4 * 1024 * SizeOf(kNvfp4Group.words[0]), 1048576);
  EXPECT_EQ(32 * 4 * 1024 * SizeOf(kNvfp4Group.scale), 131072);
}

TEST(ScaleGroup, WordsAndScalesTellTheGroup) {
  EXPECT_EQ(FindScaleGroup(DType::kFp4E2M1FnX4, DType::kE8M0), &kMxGroup);
  EXPECT_EQ(FindScaleGroup(DType::kFp4E2M1FnX4, DType::kFp8E4M3Fn), &kNvfp4Group);
  EXPECT_EQ(FindScaleGroup(DType::kFp8E5M2X4, DType::kFp8E4M3Fn), nullptr);
  EXPECT_EQ(FindScaleGroup(DType::kBf16, DType::kE8M0), nullptr);
}

}  // namespace
}  // namespace bwmm
