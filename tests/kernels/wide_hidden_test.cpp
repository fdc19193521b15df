// Layers wider than 4096: the transposes of 32 tokens fill more than one bank of PSUM (8 tiles of
// 512 columns each), so the last tiles of a row go through the second one.
#include <gtest/gtest.h>

#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::Routes;

class WideHidden : public testing::TestWithParam<MoECTEImplementation> {};

TEST_P(WideHidden, IsInsideTheBound) {
  Layer layer = LayerOf(GetParam());
  layer.hidden = 4608;  // 9 tiles: the ninth alone in its bank
  layer.experts = 2;
  LayerRun run(layer, Routes{{0}, {1}, {0}, {1}, {0}});
  run.Run();
  const reference::Comparison comparison = run.job().Compare();
  EXPECT_TRUE(comparison.pass) << comparison.max_bound_ratio << " of the bound";
  EXPECT_EQ(comparison.count, 5 * 4608);
}

INSTANTIATE_TEST_SUITE_P(Mx, WideHidden,
                         testing::Values(MoECTEImplementation::shard_on_block_mx,
                                         MoECTEImplementation::shard_on_i_mx,
                                         MoECTEImplementation::shard_on_i_mx_hybrid),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace bwmm
