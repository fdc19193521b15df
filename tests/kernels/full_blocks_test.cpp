// Blocks whose last rows are tokens too. A block of 512 rows is gathered in more groups than there
// are buffers for, so the last groups are fetched while the first ones are at work.
#include <gtest/gtest.h>

#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::Routes;

class FullBlocks : public testing::TestWithParam<MoECTEImplementation> {};

TEST_P(FullBlocks, EveryRowIsTheRowOfItsToken) {
  Layer layer = LayerOf(GetParam());
  layer.experts = 2;
  layer.block_size = 512;
  Routes routes(512, {1});
  routes.push_back({0});
  LayerRun run(layer, routes);
  ASSERT_EQ(run.job().layout().rows_per_expert, (std::vector<std::int64_t>{1, 512}));
  run.Run();
  const reference::Comparison comparison = run.job().Compare();
  EXPECT_TRUE(comparison.pass) << comparison.max_bound_ratio << " of the bound, token "
                               << comparison.worst_token;
  EXPECT_EQ(comparison.count, 513 * layer.hidden);
}

INSTANTIATE_TEST_SUITE_P(All, FullBlocks,
                         testing::Values(MoECTEImplementation::shard_on_block,
                                         MoECTEImplementation::shard_on_i,
                                         MoECTEImplementation::shard_on_i_hybrid,
                                         MoECTEImplementation::shard_on_block_mx,
                                         MoECTEImplementation::shard_on_i_mx,
                                         MoECTEImplementation::shard_on_i_mx_hybrid),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace bwmm
