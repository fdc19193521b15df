// Kernels on the sequential executor against the double-precision reference: shapes, routing,
// refusals.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "host/routing.h"
#include "model/ops/executor.h"
#include "model/support/sim_error.h"
#include "tests/kernels/layers.h"
#include "workloads/checksum.h"
#include "workloads/moe_cte/layer_job.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing::HasSubstr;
using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::OptionsOf;

class MoeCteLayer : public testing::TestWithParam<Layer> {};

TEST_P(MoeCteLayer, IsInsideTheDerivedBound) {
  const isa::Limits limits;
  workloads::LayerJob job(OptionsOf(GetParam()), limits, kHbmBytes, true);
  ops::RunSequentially(limits, job.hbm(), job.program());
  const reference::Comparison comparison = job.Compare();
  EXPECT_TRUE(comparison.pass) << "bound ratio " << comparison.max_bound_ratio << ", rms ratio "
                               << comparison.max_rms_ratio << ", worst token "
                               << comparison.worst_token << ", column " << comparison.worst_column;
  EXPECT_EQ(comparison.count % GetParam().tokens, 0);
}

constexpr auto kBlock = MoECTEImplementation::shard_on_block;
constexpr auto kIMx = MoECTEImplementation::shard_on_i_mx;

INSTANTIATE_TEST_SUITE_P(
    All, MoeCteLayer,
    testing::Values(
        Layer{.name = "mxfp4", .variant = kIMx},
        Layer{.name = "mxfp4_wide_block", .variant = kIMx, .tokens = 300, .block_size = 512},
        Layer{.name = "mxfp8_e4m3_two_tiles",
              .variant = kIMx,
              .hidden = 1024,
              .intermediate = 2048,
              .weights = host::WeightLayout::kMxfp8E4M3},
        Layer{.name = "mxfp8_e5m2",
              .variant = kIMx,
              .tokens = 9,
              .weights = host::WeightLayout::kMxfp8E5M2},
        Layer{.name = "mx_padded_gpt_oss_eighth",
              .variant = kIMx,
              .hidden = 360,
              .intermediate = 360,
              .experts = 5,
              .top_k = 4,
              .activation = Activation::kSwish,
              .biases = true,
              .clamps = true},
        Layer{.name = "mx_bias_gelu",
              .variant = kIMx,
              .activation = Activation::kGeluTanh,
              .biases = true},
        Layer{.name = "mx_clamp_only", .variant = kIMx, .clamps = true},
        Layer{.name = "mx_no_scale", .variant = kIMx, .scaling = host::AffinityScaling::kNoScale},
        Layer{.name = "mx_one_token", .variant = kIMx, .tokens = 1},
        Layer{.name = "block", .variant = kBlock, .intermediate = 256},
        Layer{.name = "block_many_groups",
              .variant = kBlock,
              .intermediate = 64,
              .experts = 16,
              .top_k = 3,
              .tokens = 90,
              .block_size = 128},
        Layer{.name = "block_odd_i_88", .variant = kBlock, .intermediate = 88, .biases = true},
        Layer{.name = "block_odd_i_232",
              .variant = kBlock,
              .hidden = 336,
              .intermediate = 232,
              .experts = 5,
              .top_k = 5,
              .activation = Activation::kReluSquared,
              .clamps = true},
        Layer{.name = "block_wide",
              .variant = kBlock,
              .intermediate = 144,
              .tokens = 400,
              .block_size = 512},
        Layer{.name = "block_pre_scale",
              .variant = kBlock,
              .intermediate = 128,
              .biases = true,
              .scaling = host::AffinityScaling::kPreScale},
        Layer{.name = "block_no_scale",
              .variant = kBlock,
              .intermediate = 128,
              .biases = true,
              .scaling = host::AffinityScaling::kNoScale}),
    [](const auto& info) { return info.param.name; });

// Routing cases that break block layouts, on every variant that takes any routing.
class MoeCteRouting : public testing::TestWithParam<MoECTEImplementation> {
 protected:
  // experts_of[t] are token t's experts, -1 for an unused slot.
  void RunWith(const std::vector<std::vector<int>>& experts_of, int experts) {
    host::Routing routing{.tokens = static_cast<int>(experts_of.size()),
                          .experts = experts,
                          .top_k = static_cast<int>(experts_of[0].size()),
                          .expert = {},
                          .weight = {}};
    for (const auto& slots : experts_of) {
      for (const int expert : slots) {
        routing.expert.push_back(expert);
        routing.weight.push_back(expert < 0 ? 0.0f : 0.5f);
      }
    }
    const std::filesystem::path csv =
        std::filesystem::temp_directory_path() / fmt::format("bwmm_routing_{}.csv", getpid());
    host::SaveRoutingCsv(csv, routing);
    workloads::LayerJobOptions options = OptionsOf({.name = "routing",
                                                    .variant = GetParam(),
                                                    .intermediate = 128,
                                                    .experts = experts,
                                                    .top_k = routing.top_k,
                                                    .tokens = routing.tokens});
    options.routing_csv = csv;
    const isa::Limits limits;
    workloads::LayerJob job(options, limits, kHbmBytes, true);
    std::filesystem::remove(csv);
    ops::RunSequentially(limits, job.hbm(), job.program());
    const reference::Comparison comparison = job.Compare();
    EXPECT_TRUE(comparison.pass) << "bound ratio " << comparison.max_bound_ratio;
  }
};

TEST_P(MoeCteRouting, OneHotExpertAndEmptyOnes) {
  RunWith(std::vector<std::vector<int>>(20, {2}), 4);
}

TEST_P(MoeCteRouting, ExactlyOneBlockOfRows) {
  RunWith(std::vector<std::vector<int>>(256, {1}), 2);
}

TEST_P(MoeCteRouting, OneRowMoreThanABlock) {
  RunWith(std::vector<std::vector<int>>(257, {0}), 2);
}

TEST_P(MoeCteRouting, UnusedSlotsGiveNothing) {
  RunWith({{0, -1}, {1, 0}, {-1, 2}, {2, 1}}, 3);
}

TEST_P(MoeCteRouting, EveryTokenOnEveryExpert) {
  RunWith(std::vector<std::vector<int>>(7, {0, 1, 2, 3}), 4);
}

INSTANTIATE_TEST_SUITE_P(All, MoeCteRouting,
                         testing::Values(kBlock, MoECTEImplementation::shard_on_i,
                                         MoECTEImplementation::shard_on_i_hybrid,
                                         MoECTEImplementation::shard_on_block_mx, kIMx,
                                         MoECTEImplementation::shard_on_i_mx_hybrid),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

std::string RefusalOf(const Layer& layer, const isa::Limits& limits = {}) {
  try {
    workloads::LayerJob job(OptionsOf(layer), limits, kHbmBytes, true);
  } catch (const SimError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MoeCte, RejectsMxOnGeneration3) {
  isa::Limits trn2;
  trn2.generation = 3;
  EXPECT_THAT(RefusalOf({.name = "x"}, trn2), HasSubstr("MX needs generation 4 (trn3)"));
}

TEST(MoeCte, RejectsBuffersThatDoNotFitAndListsTheLiveOnes) {
  const std::string why = RefusalOf({.name = "x", .hidden = 8192, .intermediate = 8192});
  EXPECT_THAT(why, HasSubstr("does not fit"));
  EXPECT_THAT(why, HasSubstr("live: "));
  EXPECT_THAT(why, HasSubstr("hidden_x4"));
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

TEST(MoeCte, RejectsBlockSizesNoVariantRuns) {
  EXPECT_THAT(RefusalOf({.name = "x", .block_size = 100}), HasSubstr("block size 100"));
  EXPECT_THAT(RefusalOf({.name = "x", .block_size = 384}), HasSubstr("block size 384"));
  EXPECT_THAT(RefusalOf({.name = "x", .block_size = 2048}), HasSubstr("block size 2048"));
}

TEST(MoeCte, RejectsNoTokens) {
  EXPECT_THAT(RefusalOf({.name = "x", .tokens = 0}), HasSubstr("tokens: 0"));
  EXPECT_THAT(RefusalOf({.name = "x", .tokens = -3}), HasSubstr("tokens: -3"));
}

TEST(MoeCte, SameSeedSameBitsOtherSeedOtherBits) {
  const isa::Limits limits;
  const auto checksum = [&](std::uint64_t seed) {
    workloads::LayerJobOptions options = OptionsOf({.name = "x"});
    options.seed = seed;
    workloads::LayerJob job(options, limits, kHbmBytes, true);
    ops::RunSequentially(limits, job.hbm(), job.program());
    return workloads::Checksum(job.Output().data);
  };
  EXPECT_EQ(checksum(1), checksum(1));
  EXPECT_NE(checksum(1), checksum(2));
}

}  // namespace
}  // namespace bwmm
