// The capacity layout, row by row.
#include <gtest/gtest.h>

#include "host/block_layout.h"

namespace bwmm::host {
namespace {

// All tokens on expert 0 of `experts`.
Routing OneHot(int tokens, int experts) {
  Routing routing{.tokens = tokens, .experts = experts, .top_k = 1, .expert = {}, .weight = {}};
  routing.expert.assign(tokens, 0);
  routing.weight.assign(tokens, 1.0f);
  return routing;
}

TEST(DroppingLayout, CapacityIsRoundedUpToAWholeRow) {
  // 5 tokens over 2 experts are 2.5 rows each.
  const BlockLayout layout = BuildDroppingLayout(OneHot(5, 2), 1.0, false);
  EXPECT_EQ(layout.rows_per_expert, (std::vector<std::int64_t>{3, 0}));
  EXPECT_EQ(layout.dropped_rows, 2);
}

TEST(DroppingLayout, KeepsTheFirstRowsAndNotOneMore) {
  for (const auto& [factor, kept] : {std::pair(1.0, 3), std::pair(0.5, 2), std::pair(1.2, 3),
                                     std::pair(1.25, 4), std::pair(2.0, 5), std::pair(9.0, 5)}) {
    const BlockLayout layout = BuildDroppingLayout(OneHot(5, 2), factor, false);
    ASSERT_EQ(layout.block_size, 256);
    for (int row = 0; row < 2 * 256; ++row)
      EXPECT_EQ(layout.token_position_to_id[row], row < kept ? row : 5) << factor << " " << row;
    EXPECT_EQ(layout.rows_per_expert[0], kept) << factor;
    EXPECT_EQ(layout.dropped_rows, 5 - kept) << factor;
  }
}

TEST(DroppingLayout, RowsDroppedByAllExpertsCount) {
  // 9 tokens over 3 experts are 3 rows each: expert 0 drops tokens 6 and 8, expert 1 token 7.
  Routing routing = OneHot(9, 3);
  routing.expert = {0, 1, 0, 1, 0, 1, 0, 1, 0};
  const BlockLayout layout = BuildDroppingLayout(routing, 1.0, false);
  EXPECT_EQ(layout.rows_per_expert, (std::vector<std::int64_t>{3, 3, 0}));
  EXPECT_EQ(layout.dropped_rows, 3);
  EXPECT_EQ(layout.token_position_to_id[256 + 2], 5);
  EXPECT_EQ(layout.token_position_to_id[256 + 3], 9);
}

// Experts 1 and 3 of 5 have rows; the blocks of the other three hold padding alone.
TEST(DroppingLayout, AnExpertWithoutRowsIsNoLiveBlock) {
  Routing routing{.tokens = 3, .experts = 5, .top_k = 1, .expert = {3, 1, 3}, .weight = {1, 1, 1}};
  for (const bool skip_token : {false, true}) {
    const BlockLayout layout = BuildDroppingLayout(routing, 9.0, skip_token);
    EXPECT_EQ(layout.blocks, 5);
    EXPECT_EQ(layout.live_blocks, 2);
    EXPECT_EQ(layout.conditions, (std::vector<std::int32_t>{0, 1, 0, 1, 0}));
  }
  routing.expert.assign(3, kUnusedSlot);
  EXPECT_EQ(BuildDroppingLayout(routing, 1.0, false).live_blocks, 0);
}

TEST(DroppingLayout, BlocksAreTheCapacityInMultiplesOf256) {
  EXPECT_EQ(BuildDroppingLayout(OneHot(512, 2), 1.0, false).block_size, 256);
  EXPECT_EQ(BuildDroppingLayout(OneHot(513, 2), 1.0, false).block_size, 512);
}

}  // namespace
}  // namespace bwmm::host
