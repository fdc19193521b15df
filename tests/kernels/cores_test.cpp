// The variants that run on other than two cores, there: values against the double-precision
// reference, the machine against the sequential executor, cycles at every fidelity, and who
// computes which block.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "model/system/machine.h"
#include "tests/kernels/layer_run.h"
#include "tests/kernels/variant_matrix.h"
#include "workloads/checksum.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing::ElementsAre;
using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::LayerRun;
using testing_layers::Matrix;
using testing_layers::OptionsOf;
using enum MoECTEImplementation;

struct Case {
  Layer layer;
  int cores = 0;
};

bool IsBlockShard(const Layer& layer) {
  return layer.variant == shard_on_block || layer.variant == shard_on_block_mx;
}

bool HasOption(const Layer& layer, std::initializer_list<std::string_view> options) {
  return std::ranges::any_of(options, [&](std::string_view option) {
    return layer.name == fmt::format("{}_{}", NameOf(layer.variant), option);
  });
}

// Few tokens on many experts, so that every core has blocks of its own.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (Layer layer : Matrix()) {
    if ((!IsBlockShard(layer) && IsMx(layer.variant)) ||
        !HasOption(layer, {"biases_clamps", "skip_both", "hi_lo", "all_dynamic", "all_static",
                           "static_3_prefetch", "fp8_bias", "on_I_bias"}))
      continue;
    layer.experts = 6;
    layer.top_k = 4;
    for (const int cores : {1, 3, 4}) {
      if (!IsBlockShard(layer)) {
        layer.block_size = 128 * cores;
        layer.intermediate = 48 * cores;
      }
      cases.push_back({layer, cores});
    }
  }
  return cases;
}

class Cores : public testing::TestWithParam<Case> {};

TEST_P(Cores, AreInsideTheBoundAndOneAnswerEverywhere) {
  MachineConfig machine = LoadMachine("trn3");
  machine.cores = GetParam().cores;
  const isa::Limits limits = LimitsOf(machine);
  const workloads::LayerJobOptions options = OptionsOf(GetParam().layer);
  workloads::LayerJob sequential(options, limits, kHbmBytes, true);
  ops::RunSequentially(limits, sequential.hbm(), sequential.program());
  const std::string checksum = workloads::Checksum(sequential.Output().data);
  const reference::Comparison comparison = sequential.Compare();
  EXPECT_TRUE(comparison.pass) << "bound ratio " << comparison.max_bound_ratio << ", rms ratio "
                               << comparison.max_rms_ratio;

  workloads::LayerJob fast(options, limits, kHbmBytes, true);
  const RunResult fast_run = RunMachine(machine, Fidelity::kFast, fast.hbm(), fast.program());
  EXPECT_EQ(workloads::Checksum(fast.Output().data), checksum);
  ASSERT_EQ(fast_run.cores.size(), static_cast<std::size_t>(GetParam().cores));
  for (const CoreResult& core : fast_run.cores)
    EXPECT_GT(core.multiply_adds, 0u);
  EXPECT_EQ(fast_run.sendrecv > 0, GetParam().cores > 1 && !IsBlockShard(GetParam().layer));

  workloads::LayerJob timing(options, limits, kHbmBytes, false);
  const RunResult timing_run =
      RunMachine(machine, Fidelity::kTiming, timing.hbm(), timing.program());
  EXPECT_EQ(timing_run.cycles, fast_run.cycles);
  EXPECT_EQ(timing_run.hbm_read, fast_run.hbm_read);
  EXPECT_EQ(timing_run.hbm_write, fast_run.hbm_write);
}

INSTANTIATE_TEST_SUITE_P(All, Cores, testing::ValuesIn(Cases()), [](const auto& info) {
  return fmt::format("{}_on_{}", info.param.layer.name, info.param.cores);
});

// Ten blocks: one for each of ten experts.
std::vector<std::vector<std::int64_t>> BlocksOf(Layer layer, int cores) {
  testing_layers::Routes routes;
  for (int token = 0; token < 10; ++token)
    routes.push_back({token});
  layer.experts = 10;
  isa::Limits limits;
  limits.cores = cores;
  LayerRun run(layer, routes, limits);
  run.Run();
  std::vector<std::vector<std::int64_t>> blocks;
  for (int core = 0; core < cores; ++core)
    blocks.push_back(run.Blocks(core));
  return blocks;
}
using Blocks = std::vector<std::int64_t>;

TEST(BlocksOfCores, AlternateInPingPong) {
  Layer layer = testing_layers::LayerOf(shard_on_block);
  EXPECT_THAT(BlocksOf(layer, 4),
              ElementsAre(Blocks{0, 4, 8}, Blocks{1, 5, 9}, Blocks{2, 6}, Blocks{3, 7}));
  EXPECT_THAT(BlocksOf(layer, 1), ElementsAre(Blocks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(BlocksOfCores, AreContiguousInHiLo) {
  Layer layer = testing_layers::LayerOf(shard_on_block);
  layer.kernel.shard_on_block.block_sharding_strategy = kernels::BlockShardStrategy::kHiLo;
  EXPECT_THAT(BlocksOf(layer, 4),
              ElementsAre(Blocks{0, 1, 2}, Blocks{3, 4, 5}, Blocks{6, 7}, Blocks{8, 9}));
}

TEST(BlocksOfCores, AreContiguousInTheStaticPartAndAlternateInTheDynamicOne) {
  Layer layer = testing_layers::LayerOf(shard_on_block_mx);
  layer.kernel.shard_on_block.n_static_blocks = 10;
  EXPECT_THAT(BlocksOf(layer, 4),
              ElementsAre(Blocks{0, 1}, Blocks{2, 3, 4}, Blocks{5, 6}, Blocks{7, 8, 9}));
  layer.kernel.shard_on_block.n_static_blocks = 3;
  EXPECT_THAT(BlocksOf(layer, 4),
              ElementsAre(Blocks{3, 7}, Blocks{0, 4, 8}, Blocks{1, 5, 9}, Blocks{2, 6}));
}

}  // namespace
}  // namespace bwmm
