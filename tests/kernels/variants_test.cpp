// Every variant with every option that makes sense for it: values against the double-precision
// reference, the machine against the sequential executor, cycles at every fidelity.

#include <gtest/gtest.h>

#include "model/ops/executor.h"
#include "model/system/machine.h"
#include "tests/kernels/variant_matrix.h"
#include "workloads/checksum.h"

namespace bwmm {
namespace {

using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::Matrix;
using testing_layers::OptionsOf;

class Variants : public testing::TestWithParam<Layer> {};

std::string Name(const testing::TestParamInfo<Layer>& info) {
  return info.param.name;
}

TEST_P(Variants, AreInsideTheBoundAndOneAnswerEverywhere) {
  const MachineConfig machine = LoadMachine("trn3");
  const isa::Limits limits = LimitsOf(machine);
  workloads::LayerJob sequential(OptionsOf(GetParam()), limits, kHbmBytes, true);
  ops::RunSequentially(limits, sequential.hbm(), sequential.program());
  const std::string checksum = workloads::Checksum(sequential.Output().data);
  const reference::Comparison comparison = sequential.Compare();
  EXPECT_TRUE(comparison.pass) << "bound ratio " << comparison.max_bound_ratio << ", rms ratio "
                               << comparison.max_rms_ratio;

  workloads::LayerJob fast(OptionsOf(GetParam()), limits, kHbmBytes, true);
  const RunResult fast_run = RunMachine(machine, Fidelity::kFast, fast.hbm(), fast.program());
  EXPECT_EQ(workloads::Checksum(fast.Output().data), checksum);

  workloads::LayerJob timing(OptionsOf(GetParam()), limits, kHbmBytes, false);
  const RunResult timing_run =
      RunMachine(machine, Fidelity::kTiming, timing.hbm(), timing.program());
  EXPECT_EQ(timing_run.cycles, fast_run.cycles);
  EXPECT_EQ(timing_run.hbm_read, fast_run.hbm_read);
  EXPECT_EQ(timing_run.hbm_write, fast_run.hbm_write);
}

TEST(SkipWeight, MovesTheWeightsOfARepeatedExpertOnce) {
  const MachineConfig machine = LoadMachine("trn3");
  for (const auto variant :
       {kernels::MoECTEImplementation::shard_on_i_mx, kernels::MoECTEImplementation::shard_on_i}) {
    // Seven blocks of one expert.
    Layer layer{.name = "x",
                .variant = variant,
                .intermediate = IsMx(variant) ? 1024 : 256,
                .experts = 1,
                .top_k = 1,
                .tokens = 7 * 256};
    const auto bytes = [&](bool skip) {
      layer.kernel.skip_dma.skip_weight = skip;
      workloads::LayerJob job(OptionsOf(layer), LimitsOf(machine), kHbmBytes, false);
      return RunMachine(machine, Fidelity::kTiming, job.hbm(), job.program()).hbm_read;
    };
    workloads::LayerJob job(OptionsOf(layer), LimitsOf(machine), kHbmBytes, false);
    const auto weights = static_cast<std::uint64_t>(job.weight_bytes());
    EXPECT_GE(bytes(false) - bytes(true), 6 * weights * 9 / 10) << NameOf(variant);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Variants, testing::ValuesIn(Matrix()), Name);

}  // namespace
}  // namespace bwmm
