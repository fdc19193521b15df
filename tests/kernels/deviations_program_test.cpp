// The part of docs/deviations.md that is about the order of things: which core runs which block,
// what barriers order, what a missing hazard would change.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/system/machine.h"
#include "tests/kernels/layer_run.h"
#include "workloads/checksum.h"

namespace bwmm {
namespace {

using kernels::BlockShardStrategy;
using kernels::MoECTEImplementation;

using testing_layers::kAllVariants;
using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::OptionsOf;
using testing_layers::Routes;
using enum MoECTEImplementation;

using Blocks = std::vector<std::int64_t>;

// One token for each of `live` experts of `experts`: `live` blocks of one row.
Routes OneTokenEach(int live) {
  Routes routes;
  for (int e = 0; e < live; ++e)
    routes.push_back({e});
  return routes;
}

// A layer of 7 blocks.
Layer SevenBlocks(MoECTEImplementation variant) {
  Layer layer = LayerOf(variant);
  layer.experts = 7;
  layer.block_size = 256;
  return layer;
}

std::pair<Blocks, Blocks> BlocksOf(const Layer& layer, const Routes& routes) {
  LayerRun run(layer, routes);
  run.Run();
  return {run.Blocks(0), run.Blocks(1)};
}

Blocks Range(std::int64_t begin, std::int64_t end) {
  Blocks blocks(end - begin);
  std::iota(blocks.begin(), blocks.end(), begin);
  return blocks;
}

TEST(Deviations, S1StaticHalvesOfBlockMxAreContiguousAndItsDynamicPartAlternates) {
  Layer layer = SevenBlocks(shard_on_block_mx);
  layer.kernel.shard_on_block.n_static_blocks = 7;
  EXPECT_EQ(BlocksOf(layer, OneTokenEach(7)), std::pair(Range(0, 3), Range(3, 7)));
  layer.kernel.shard_on_block.n_static_blocks = 2;
  EXPECT_EQ(BlocksOf(layer, OneTokenEach(7)), std::pair(Blocks{0, 2, 4, 6}, Blocks{1, 3, 5}));
  EXPECT_EQ(BlocksOf(SevenBlocks(shard_on_block), OneTokenEach(7)),
            std::pair(Blocks{0, 2, 4, 6}, Blocks{1, 3, 5}));
}

TEST(Deviations, S2StaticPrefixIsNMinusEInBothHybrids) {
  for (const auto variant : {shard_on_i_hybrid, shard_on_i_mx_hybrid}) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    layer.experts = 2;
    const Routes routes(1000, {1});  // N = 5, live 4
    LayerRun run(layer, routes);
    ASSERT_EQ(run.job().layout().blocks, 5);
    run.Run();
    std::size_t counted_by_kernel = 0;
    const ops::HbmTensor& slots = run.job().tensor("token_position_to_id");
    for (const isa::Instruction& each : run.program(0)) {
      const auto* copy = std::get_if<isa::DmaCopy>(&each.body);
      counted_by_kernel += copy != nullptr && LayerRun::IsIn(copy->src, slots) &&
                                   copy->dst.partitions == 128 && !copy->src_offset
                               ? 1
                               : 0;
    }
    EXPECT_EQ(counted_by_kernel, 3u);  // odd: not rounded
    EXPECT_EQ(run.Blocks(0), Range(0, 4));
    EXPECT_EQ(run.Blocks(1), Range(0, 4));
  }
}

TEST(Deviations, S2MoreExpertsThanBlocksMeansNoStaticPart) {
  for (const auto variant : {shard_on_i_hybrid, shard_on_i_mx_hybrid}) {
    Layer layer = LayerOf(variant);
    layer.experts = 9;
    LayerRun run(layer, OneTokenEach(2));
    run.Run();
    EXPECT_EQ(run.Blocks(0), Range(0, 2)) << NameOf(variant);
    EXPECT_TRUE(run.job().Compare().pass) << NameOf(variant);
  }
}

// Instruction positions of one core around the zeroing of a shared output.
struct Order {
  std::size_t last_zero = 0, barrier = 0, first_read = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> zeroed;  // [begin, end) of the output
};

Order OrderOf(LayerRun& run, int core) {
  const ops::HbmTensor& output = run.job().tensor("output");
  Order order;
  const auto& program = run.program(core);
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (order.barrier == 0 && std::holds_alternative<isa::CoreBarrier>(program[i].body)) {
      order.barrier = i;
      EXPECT_EQ(std::get<isa::CoreBarrier>(program[i].body).data.offset, output.address);
    }
    const auto* copy = std::get_if<isa::DmaCopy>(&program[i].body);
    if (copy == nullptr)
      continue;
    if (LayerRun::IsIn(copy->dst, output) && !copy->scatter) {
      order.last_zero = i;
      order.zeroed.emplace_back(copy->dst.offset, copy->dst.offset + copy->dst.bytes());
    }
    if (order.first_read == 0 && LayerRun::IsIn(copy->src, output))
      order.first_read = i;
  }
  return order;
}

TEST(Deviations, B3ZeroingASharedOutputIsSplitAndABarrierOrdersItBeforeBlock0) {
  for (const auto variant :
       {shard_on_i, shard_on_i_hybrid, shard_on_i_dropping, shard_on_i_mx, shard_on_i_mx_hybrid}) {
    SCOPED_TRACE(NameOf(variant));
    LayerRun run(LayerOf(variant));
    run.Run();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> zeroed;
    for (const int core : {0, 1}) {
      const Order order = OrderOf(run, core);
      EXPECT_LT(order.last_zero, order.barrier);
      EXPECT_LT(order.barrier, order.first_read);
      zeroed.insert(zeroed.end(), order.zeroed.begin(), order.zeroed.end());
    }
    // Together the cores zero every byte exactly once.
    std::sort(zeroed.begin(), zeroed.end());
    const ops::HbmTensor& output = run.job().tensor("output");
    std::uint64_t end = output.address;
    for (const auto& [from, to] : zeroed) {
      EXPECT_EQ(from, end);
      end = to;
    }
    EXPECT_EQ(end, output.address + output.bytes);
  }
}

// S7 too: block n + 1's gather of the output follows block n's scatter through HBM.
TEST(Deviations, B3MachinesOfAnySpeedGiveTheExecutorsBits) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> speeds = {
      {},
      {{"machine.dma.start_ns", "1"}, {"machine.link.barrier_ns", "1"}},
      {{"machine.dma.start_ns", "20000"}, {"machine.link.sendrecv_ns", "1"}},
      {{"machine.hbm.bandwidth_mb_s", "20000"}, {"machine.dma.engines", "1"}},
      {{"machine.clock.vector_mhz", "100"}, {"machine.hbm.latency_ns", "5000"}},
      {{"machine.clock.tensor_mhz", "300"}, {"machine.clock.gpsimd_mhz", "100"}}};
  for (const auto variant : kAllVariants) {
    Layer layer = LayerOf(variant);
    layer.biases = true;
    layer.block_size = 256;
    layer.kernel.shard_on_block.n_static_blocks = 2;
    layer.kernel.shard_on_I.num_static_block = 2;
    LayerRun sequential(layer);
    sequential.Run();
    const std::string expected = workloads::Checksum(sequential.output().data);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      MachineConfig machine = LoadMachine("trn3");
      for (const auto& [key, value] : speeds[i])
        ApplySetting(machine, key, value);
      workloads::LayerJob job(OptionsOf(layer), LimitsOf(machine), kHbmBytes, true);
      RunMachine(machine, Fidelity::kFast, job.hbm(), job.program());
      EXPECT_EQ(workloads::Checksum(job.Output().data), expected)
          << NameOf(variant) << ", settings " << i;
    }
  }
}

// 57 blocks of which 55 are dynamic by default, all live: the last trip has one block.
TEST(Deviations, B4OddDynamicCountsWithAllBlocksLiveStayInBounds) {
  Layer layer = LayerOf(shard_on_block_mx);
  layer.experts = 57;
  layer.block_size = 128;
  LayerRun run(layer, OneTokenEach(57));
  ASSERT_EQ(run.job().layout().blocks, 57);
  ASSERT_EQ(run.job().layout().live_blocks, 57);
  run.Run();
  EXPECT_EQ(run.Blocks(0).size() + run.Blocks(1).size(), 57u);
  EXPECT_EQ(run.Blocks(0).back(), 56);
  EXPECT_EQ(run.Blocks(1).back(), 55);
  EXPECT_TRUE(run.job().Compare().pass);
}

TEST(Deviations, B4EveryNumberOfLiveAndStaticBlocksRunsEveryLiveBlockOnce) {
  for (const int live : {1, 2, 3, 4, 5}) {
    for (const int static_blocks : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("{} live, {} static", live, static_blocks));
      Layer layer = LayerOf(shard_on_block_mx);
      layer.experts = 5;
      layer.kernel.shard_on_block.n_static_blocks = std::min(static_blocks, live);
      LayerRun run(layer, OneTokenEach(live));
      run.Run();
      Blocks all = run.Blocks(0);
      const Blocks other = run.Blocks(1);
      all.insert(all.end(), other.begin(), other.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, Range(0, live));
      EXPECT_TRUE(run.job().Compare().pass);
    }
  }
}

TEST(Deviations, B17LiveBlocksAreCountedFromTheRoutingNotFromTheIds) {
  for (const bool skip_token : {false, true}) {
    for (const auto variant : {shard_on_i_hybrid, shard_on_block_mx, shard_on_i_mx_hybrid}) {
      SCOPED_TRACE(NameOf(variant));
      Layer layer = LayerOf(variant);
      layer.experts = 3;
      layer.kernel.skip_dma.skip_token = skip_token;
      layer.kernel.shard_on_block.n_static_blocks = 0;
      layer.kernel.shard_on_I.num_static_block = 0;
      LayerRun run(layer, Routes(20, {1}));  // three blocks, one with rows
      ASSERT_EQ(run.job().layout().blocks, 3);
      run.Run();
      EXPECT_EQ(run.Blocks(0), Range(0, 1));
      EXPECT_EQ(run.Blocks(1), variant == shard_on_block_mx ? Blocks() : Range(0, 1));
    }
  }
}

TEST(Deviations, B18HiLoGivesCoresContiguousHalves) {
  Layer layer = SevenBlocks(shard_on_block);
  layer.kernel.shard_on_block.block_sharding_strategy = BlockShardStrategy::kHiLo;
  EXPECT_EQ(BlocksOf(layer, OneTokenEach(7)), std::pair(Range(0, 4), Range(4, 7)));
}

}  // namespace
}  // namespace bwmm
