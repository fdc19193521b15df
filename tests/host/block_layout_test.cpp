// Blocks from routing: public vectors, the bound on their number, and every rule on random input.
#include "host/block_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/host/temp_dir.h"

namespace bwmm::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Routing RoutingOf(int experts, int top_k, std::vector<std::int32_t> ids) {
  Routing routing{.tokens = static_cast<int>(ids.size()) / top_k,
                  .experts = experts,
                  .top_k = top_k,
                  .expert = std::move(ids)};
  routing.weight.assign(routing.expert.size(), 1.0f);
  return routing;
}

// The vector of NeuronX Distributed's documentation: experts of tokens 0..5 are 0, 1, 0, 2, 0, 1.
TEST(BlockLayout, GivesThePublishedMapping) {
  const BlockLayout layout =
      BuildBlockLayout(RoutingOf(3, 1, {0, 1, 0, 2, 0, 1}), {.block_size = 2, .skip_token = true});
  EXPECT_EQ(layout.blocks, 4);
  EXPECT_THAT(layout.block_to_expert, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(layout.token_position_to_id, ElementsAre(0, 2, 4, -1, 1, 5, 3, -1));
  EXPECT_THAT(layout.conditions, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(layout.rows_per_expert, ElementsAre(3, 2, 1));
}

TEST(BlockLayout, ExpertWithoutTokensGetsNoBlock) {
  const BlockLayout layout =
      BuildBlockLayout(RoutingOf(3, 1, {2, 0, 2, 2}), {.block_size = 2, .skip_token = true});
  EXPECT_EQ(layout.blocks, 3);
  EXPECT_EQ(layout.live_blocks, 3);
  EXPECT_THAT(layout.block_to_expert, ElementsAre(0, 2, 2));
  EXPECT_THAT(layout.token_position_to_id, ElementsAre(1, -1, 0, 2, 3, -1));
}

TEST(BlockLayout, PaddingBlocksFollowAndNameTheLastExpert) {
  const BlockLayout layout =
      BuildBlockLayout(RoutingOf(4, 1, {1, 1, 1, 1, 1}), {.block_size = 4, .pad_to_even = true});
  EXPECT_EQ(layout.blocks, 4);
  EXPECT_EQ(layout.live_blocks, 2);
  EXPECT_THAT(layout.block_to_expert, ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(layout.conditions, ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(layout.token_position_to_id,
              ElementsAre(0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5));
  const HostTensor conditions = layout.Conditions(2);
  EXPECT_EQ(conditions.dtype, DType::kInt32);
  EXPECT_THAT(conditions.words<std::int32_t>(), ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_EQ(layout.TokenPositionToId().shape, std::vector<std::int64_t>{16});
  EXPECT_THAT(layout.BlockToExpert().words<std::int32_t>(), ElementsAre(1, 1, 3, 3));
}

TEST(BlockLayout, UnusedSlotsAreSkippedAndATwiceNamedExpertGetsOneRow) {
  const BlockLayout layout =
      BuildBlockLayout(RoutingOf(2, 2, {0, -1, 1, 1, -1, -1}), {.block_size = 2});
  EXPECT_THAT(layout.rows_per_expert, ElementsAre(1, 1));
  EXPECT_EQ(layout.live_blocks, 2);
  EXPECT_THAT(layout.block_to_expert, ElementsAre(0, 1, 1, 1));
}

TEST(BlockLayout, NothingRoutedNeedsNoBlocks) {
  EXPECT_EQ(BuildBlockLayout(RoutingOf(4, 1, {}), {.block_size = 8}).blocks, 0);
  EXPECT_EQ(BuildBlockLayout(RoutingOf(4, 2, {-1, -1}), {.block_size = 8}).blocks, 0);
}

struct Count {
  int tokens, top_k, experts, block_size, blocks;
};

TEST(BlockLayout, NumberOfBlocksOfKnownShapes) {
  for (const Count& c :
       {Count{80, 10, 256, 64, 264}, Count{128, 8, 256, 128, 262}, Count{512, 8, 256, 128, 286},
        Count{2048, 8, 256, 128, 382}, Count{2048, 8, 256, 256, 319}, Count{1024, 4, 128, 128, 159},
        Count{4096, 2, 8, 512, 23}, Count{16, 8, 256, 128, 128}, Count{1, 8, 256, 128, 8},
        Count{3, 2, 8, 4, 6}}) {
    EXPECT_EQ(BlocksNeeded(c.tokens, c.top_k, c.experts, c.block_size, false), c.blocks)
        << c.tokens << " tokens";
  }
  EXPECT_EQ(BlocksNeeded(4096, 2, 8, 512, true), 24);
}

// All splits of `rows` rows over `experts` experts.
int WorstCase(int rows, int experts, int block_size) {
  if (experts == 1)
    return (rows + block_size - 1) / block_size;
  int worst = 0;
  for (int first = 0; first <= rows; ++first) {
    worst = std::max(worst, (first + block_size - 1) / block_size +
                                WorstCase(rows - first, experts - 1, block_size));
  }
  return worst;
}

TEST(BlockLayout, NumberOfBlocksIsTheWorstCaseOverAllLoads) {
  for (int rows = 1; rows <= 12; ++rows) {
    for (int experts = 1; experts <= 4; ++experts) {
      for (const int block_size : {1, 2, 3, 4, 8}) {
        EXPECT_EQ(BlocksNeeded(rows, 1, experts, block_size, false),
                  WorstCase(rows, experts, block_size))
            << rows << " rows, " << experts << " experts, blocks of " << block_size;
      }
    }
  }
}

// Checks each rule against the routing itself.
void ExpectRulesHold(const Routing& routing, const BlockLayoutOptions& options) {
  const BlockLayout layout = BuildBlockLayout(routing, options);
  const int size = options.block_size;
  const std::int32_t pad = options.skip_token ? -1 : routing.tokens;
  std::set<std::pair<int, int>> wanted;  // (expert, token)
  for (std::size_t k = 0; k < routing.expert.size(); ++k) {
    if (routing.expert[k] >= 0)
      wanted.emplace(routing.expert[k], static_cast<int>(k) / routing.top_k);
  }
  std::vector<std::pair<int, int>> rows;
  ASSERT_EQ(std::ssize(layout.token_position_to_id), std::ptrdiff_t{layout.blocks} * size);
  ASSERT_EQ(std::ssize(layout.block_to_expert), layout.blocks);
  ASSERT_EQ(std::ssize(layout.conditions), layout.blocks);
  for (int b = 0; b < layout.blocks; ++b) {
    int live = 0;
    for (int j = 0; j < size; ++j) {
      const std::int32_t t = layout.token_position_to_id[b * size + j];
      if (t == pad)
        continue;
      EXPECT_EQ(live, j) << "rows before pads";
      ++live;
      rows.emplace_back(layout.block_to_expert[b], t);
    }
    EXPECT_EQ(layout.conditions[b], live > 0);
    EXPECT_EQ(live > 0, b < layout.live_blocks);
    if (live == 0) {
      EXPECT_EQ(layout.block_to_expert[b], routing.experts - 1);
    }
    if (live > 0 && live < size && b + 1 < layout.live_blocks) {
      EXPECT_NE(layout.block_to_expert[b], layout.block_to_expert[b + 1])
          << "only an expert's last block has pads";
    }
  }
  // The rows in block order are the wanted pairs in (expert, token) order: each once, ascending.
  EXPECT_TRUE(std::ranges::equal(rows, wanted));
  if (options.pad_to_even) {
    EXPECT_EQ(layout.blocks % 2, 0);
  }
}

TEST(BlockLayout, RulesHoldForRandomRouting) {
  constexpr unsigned kSeed = 3;
  std::mt19937 random(kSeed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    const int experts = pick(1, 9);
    const int top_k = pick(1, experts);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(pick(0, 30)) * top_k);
    const int skew = pick(0, experts - 1);
    for (std::int32_t& id : ids)
      id = pick(0, 3) == 0 ? skew : pick(-1, experts - 1);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    ExpectRulesHold(
        RoutingOf(experts, top_k, ids),
        {.block_size = pick(1, 8), .skip_token = pick(0, 1) == 1, .pad_to_even = pick(0, 1) == 1});
  }
}

TEST(BlockLayout, RejectsIdsOutOfRangeAndSenselessSizes) {
  EXPECT_THAT(ErrorOf([] {
                BuildBlockLayout(RoutingOf(2, 2, {0, 1, 0, 2}), {.block_size = 4});
              }),
              HasSubstr("token 1 slot 1 has expert 2, allowed 0 to 1 or -1"));
  EXPECT_THAT(ErrorOf([] { BuildBlockLayout(RoutingOf(2, 1, {-2}), {.block_size = 4}); }),
              HasSubstr("expert -2"));
  EXPECT_THAT(ErrorOf([] { BuildBlockLayout(RoutingOf(2, 1, {0}), {.block_size = 0}); }),
              HasSubstr("block size 0"));
  EXPECT_THAT(ErrorOf([] { BlocksNeeded(1 << 30, 8, 8, 1, false); }), HasSubstr("2^31 - 1"));
}

}  // namespace
}  // namespace bwmm::host
