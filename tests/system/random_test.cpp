// Random programs: the machine gives the sequential executor's bits (a missing hazard would show),
// timing takes the cycles of fast, and nothing depends on the order in which SystemC runs
// processes.
#include <gtest/gtest.h>

#include "model/system/machine.h"
#include "tests/system/random_program.h"

namespace bwmm {
namespace {

using test::RandomProgram;
using test::RandomTensors;

constexpr unsigned kSeeds = 12;

RunResult RunProgram(RandomTensors& tensors, Fidelity fidelity, bool reverse = false,
                     const char* machine = "trn3") {
  RunOptions options;
  options.build_in_reverse = reverse;
  return RunMachine(
      LoadMachine(machine), fidelity, tensors.hbm,
      [&](isa::Sink& sink) { RandomProgram(tensors, sink); }, options);
}

TEST(RandomPrograms, GiveTheSequentialExecutorsBits) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    RandomTensors timed(seed, true), sequential(seed, true);
    RunProgram(timed, Fidelity::kFast);
    ops::RunSequentially(LimitsOf(LoadMachine("trn3")), sequential.hbm,
                         [&](isa::Sink& sink) { RandomProgram(sequential, sink); });
    for (std::size_t i = 0; i < timed.outputs.size(); ++i)
      EXPECT_TRUE(timed.outputs[i]->data == sequential.outputs[i]->data)
          << "seed " << seed << " output " << i;
  }
}

TEST(RandomPrograms, TakeTheSameCyclesInTimingAndFast) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    RandomTensors fast(seed, true), timing(seed, false);
    const char* machine = seed % 2 ? "trn3" : "trn2";
    EXPECT_EQ(RunProgram(fast, Fidelity::kFast, false, machine).cycles,
              RunProgram(timing, Fidelity::kTiming, false, machine).cycles)
        << "seed " << seed;
  }
}

TEST(RandomPrograms, DoNotDependOnTheOrderOfProcesses) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    RandomTensors forward(seed, true), backward(seed, true);
    EXPECT_EQ(RunProgram(forward, Fidelity::kFast).cycles,
              RunProgram(backward, Fidelity::kFast, true).cycles)
        << "seed " << seed;
    for (std::size_t i = 0; i < forward.outputs.size(); ++i)
      EXPECT_TRUE(forward.outputs[i]->data == backward.outputs[i]->data) << "seed " << seed;
  }
}

}  // namespace
}  // namespace bwmm
