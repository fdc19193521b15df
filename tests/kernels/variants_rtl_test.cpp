// Every variant on the Verilated engine: the fast model's bits and cycles, and the executor's bits.

#include <gtest/gtest.h>

#include "model/system/machine.h"
#include "tests/kernels/variant_matrix.h"
#include "workloads/checksum.h"

namespace bwmm {
namespace {

using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::Matrix;
using testing_layers::OptionsOf;

// One small layer per variant for each of a few options: the engine sees every kind of command.
std::vector<Layer> Layers() {
  std::vector<Layer> layers;
  for (Layer layer : Matrix()) {
    const bool chosen = layer.name.ends_with("_biases_clamps") ||
                        layer.name.ends_with("_skip_both") || layer.name.ends_with("_fp8_bias") ||
                        layer.name.ends_with("_mxfp8_e5m2") || layer.name.ends_with("_all_dynamic");
    if (!chosen)
      continue;
    layer.tokens = std::min(layer.tokens, 12);
    layers.push_back(layer);
  }
  return layers;
}

class VariantsRtl : public testing::TestWithParam<Layer> {};

void ExpectTheFastModelsBitsAndCycles(const Layer& layer, int cores) {
  MachineConfig machine = LoadMachine("trn3");
  machine.cores = cores;
  const isa::Limits limits = LimitsOf(machine);
  workloads::LayerJob fast(OptionsOf(layer), limits, kHbmBytes, true);
  workloads::LayerJob rtl(OptionsOf(layer), limits, kHbmBytes, true);
  const RunResult fast_run = RunMachine(machine, Fidelity::kFast, fast.hbm(), fast.program());
  const RunResult rtl_run = RunMachine(machine, Fidelity::kRtl, rtl.hbm(), rtl.program());
  EXPECT_EQ(workloads::Checksum(rtl.Output().data), workloads::Checksum(fast.Output().data));
  EXPECT_EQ(rtl_run.cycles, fast_run.cycles);
  ASSERT_EQ(rtl_run.cores.size(), fast_run.cores.size());
  for (std::size_t core = 0; core < rtl_run.cores.size(); ++core) {
    for (int unit = 0; unit < units::kUnits; ++unit)
      EXPECT_EQ(rtl_run.cores[core].units[unit].cycles, fast_run.cores[core].units[unit].cycles);
  }
}

TEST_P(VariantsRtl, HaveTheFastModelsBitsAndCycles) {
  ExpectTheFastModelsBitsAndCycles(GetParam(), 2);
}

TEST(CoresRtl, HaveTheFastModelsBitsAndCyclesOnOneAndFour) {
  for (const auto variant : {kernels::MoECTEImplementation::shard_on_block,
                             kernels::MoECTEImplementation::shard_on_i_dropping,
                             kernels::MoECTEImplementation::shard_on_block_mx}) {
    for (const int cores : {1, 4}) {
      SCOPED_TRACE(fmt::format("{} on {} cores", NameOf(variant), cores));
      ExpectTheFastModelsBitsAndCycles({.name = "cores",
                                        .variant = variant,
                                        .intermediate = IsMx(variant) ? 512 : 32,
                                        .experts = 4,
                                        .tokens = 8},
                                       cores);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, VariantsRtl, testing::ValuesIn(Layers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bwmm
