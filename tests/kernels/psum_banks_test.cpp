// Layers on machines with fewer and more PSUM banks: the same bits, other cycles, or a refusal that
// says how many are needed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/system/machine.h"
#include "tests/kernels/layer_run.h"
#include "workloads/checksum.h"

namespace bwmm {
namespace {

using testing::HasSubstr;
using testing_layers::kAllVariants;
using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::OptionsOf;

struct Outcome {
  std::string checksum;
  std::uint64_t cycles = 0;
};

Outcome RunWith(const Layer& layer, int banks, MachineConfig machine = LoadMachine("trn3")) {
  machine.psum.banks = banks;
  workloads::LayerJob job(OptionsOf(layer), LimitsOf(machine), kHbmBytes, true);
  const RunResult result = RunMachine(machine, Fidelity::kFast, job.hbm(), job.program());
  return {workloads::Checksum(job.Output().data), result.cycles};
}

TEST(PsumBanks, FourGiveTheBitsOfEightInEveryVariant) {
  for (const auto variant : kAllVariants) {
    const Layer layer = LayerOf(variant);
    const Outcome eight = RunWith(layer, 8);
    const Outcome four = RunWith(layer, 4);
    EXPECT_EQ(four.checksum, eight.checksum) << NameOf(variant);
  }
}

TEST(PsumBanks, FewerCostTimeAndMoreAreUsed) {
  Layer layer = LayerOf(kernels::MoECTEImplementation::shard_on_block);
  layer.hidden = 1536;
  layer.intermediate = 512;
  // DMAs do not hold this layer up.
  MachineConfig machine = LoadMachine("trn3");
  machine.dma.engine_mb_s *= 8;
  machine.hbm.bandwidth_mb_s *= 8;
  const Outcome four = RunWith(layer, 4, machine);
  const Outcome eight = RunWith(layer, 8, machine);
  const Outcome sixteen = RunWith(layer, 16, machine);
  EXPECT_EQ(sixteen.checksum, eight.checksum);
  EXPECT_GT(four.cycles, eight.cycles);
  EXPECT_GT(eight.cycles, sixteen.cycles);
}

TEST(PsumBanks, RejectsTooFewWithHowManyFit) {
  isa::Limits limits;
  limits.psum_banks = 1;
  EXPECT_THAT(RefusalOf(LayerOf(kernels::MoECTEImplementation::shard_on_block), limits),
              HasSubstr("it fits with machine.psum.banks=3"));
  EXPECT_THAT(RefusalOf(LayerOf(kernels::MoECTEImplementation::shard_on_i_mx), limits),
              HasSubstr("it fits with machine.psum.banks=2"));
}

TEST(Array, RejectsOneThatIsSmallerThanTheTilesOfALayer) {
  for (const auto variant : kAllVariants) {
    isa::Limits narrow;
    narrow.psum_partitions = 64;
    EXPECT_THAT(RefusalOf(LayerOf(variant), narrow),
                HasSubstr("runs on 128 partitions and a 128 x 128 array, the machine has 128 and "
                          "128 x 64; matmul and quantize run on it"));
    isa::Limits small;
    small.partitions = 64;
    EXPECT_THAT(RefusalOf(LayerOf(variant), small), HasSubstr("the machine has 64 and 64 x 128"));
  }
}

}  // namespace
}  // namespace bwmm
