// Every variant rounds where docs/numerics.md says it does: outputs bit for bit against a scalar
// model of one row (rounding_order.h).

#include "tests/kernels/rounding_order.h"

#include <gtest/gtest.h>

#include <set>

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::RoundingOrder;
using testing_layers::Routes;
using enum MoECTEImplementation;

class RoundingOrderOf : public testing::TestWithParam<Layer> {};

// Tokens on up to three of three experts, in blocks of both cores; the model is slow.
const Routes kRoutes = {{0, 1, 2}, {2, 0, -1}, {1, -1, -1}};

void ExpectTheModelsBits(LayerRun& run, RoundingOrder& model) {
  std::set<std::uint16_t> seen;
  for (int t = 0; t < run.tokens(); ++t) {
    const std::vector<std::uint16_t> expected = model.Row(t);
    for (std::int64_t h = 0; h < run.hidden(); ++h) {
      const std::uint16_t word = run.output().words<std::uint16_t>()[t * run.hidden() + h];
      ASSERT_EQ(word, expected[h]) << "token " << t << ", column " << h;
      seen.insert(word);
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

TEST_P(RoundingOrderOf, EveryOutputBitIsTheDocumentedOne) {
  LayerRun run(GetParam(), kRoutes);
  run.Multiply("expert_affinities", 0.7f);  // products with it round
  run.Run();
  RoundingOrder model(run, GetParam());
  ExpectTheModelsBits(run, model);
}

TEST(RoundingOrderInChunks, EveryOutputBitIsTheDocumentedOne) {
  isa::Limits small;
  small.sbuf_bytes = 48 * 1024;
  for (const auto variant : {shard_on_block, shard_on_i, shard_on_i_hybrid}) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    layer.intermediate = 1824;
    layer.biases = true;
    LayerRun run(layer, kRoutes, small);
    run.Run();
    RoundingOrder model(run, layer);
    const ops::HbmTensor& weights = run.job().tensor("gate_up_weight");
    int widest = 0;
    for (const isa::Instruction& each : run.program(0)) {
      const auto* copy = std::get_if<isa::DmaCopy>(&each.body);
      if (copy != nullptr && LayerRun::IsIn(copy->src, weights))
        widest = std::max(widest, static_cast<int>(copy->src.dims[copy->src.rank - 1].size));
    }
    ASSERT_LT(widest, variant == shard_on_block ? 1824 : 912);
    model.set_chunk(widest);
    ExpectTheModelsBits(run, model);
  }
}

std::vector<Layer> Layers() {
  std::vector<Layer> layers;
  const auto add = [&](MoECTEImplementation variant, const std::string& name, auto change) {
    Layer layer = LayerOf(variant);
    layer.name += "_" + name;
    layer.hidden = IsMx(variant) ? 1024 : 512;
    layer.intermediate = IsMx(variant) ? 2048 : 288;
    layer.kernel.capacity_factor = 10;
    layer.kernel.shard_on_block.n_dynamic_blocks = 0;
    layer.biases = true;
    change(layer);
    layers.push_back(layer);
  };
  for (const auto variant : testing_layers::kAllVariants) {
    add(variant, "post_scale", [](Layer& l) { l.clamps = true; });
    add(variant, "pre_scale", [](Layer& l) { l.scaling = host::AffinityScaling::kPreScale; });
    add(variant, "no_scale", [](Layer& l) {
      l.scaling = host::AffinityScaling::kNoScale;
      l.biases = false;
      l.activation = Activation::kSwish;
    });
    if (IsMx(variant))
      add(variant, "mxfp8_e4m3", [](Layer& l) { l.weights = host::WeightLayout::kMxfp8E4M3; });
    else
      add(variant, "fp8", [](Layer& l) { l.weights = host::WeightLayout::kFp8; });
  }
  for (const auto variant : {shard_on_block_mx, shard_on_i_mx})
    add(variant, "mxfp8_e5m2", [](Layer& l) { l.weights = host::WeightLayout::kMxfp8E5M2; });
  for (const auto variant : {shard_on_i, shard_on_i_hybrid, shard_on_i_dropping}) {
    add(variant, "on_I",
        [](Layer& l) { l.kernel.shard_on_I.expert_affinity_multiply_on_I = true; });
  }
  return layers;
}

INSTANTIATE_TEST_SUITE_P(All, RoundingOrderOf, testing::ValuesIn(Layers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bwmm
