// Random programs on the Verilated engines: the bits, cycles and classes of fast. Seeds are those
// of system.random, a few of each machine.
#include <gtest/gtest.h>

#include "tests/system/random_check.h"
#include "tests/system/random_program.h"

namespace bwmm {
namespace {

using replay::ReplayMode;

TEST(RandomProgramsInRtl, AreThoseOfFast) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const std::string path = ::testing::TempDir() + fmt::format("random_rtl_{}.replay", seed);
    ASSERT_EQ(test::CheckProgram(test::MakeRandomProgram(seed),
                                 {{ReplayMode::kFast}, {ReplayMode::kRtl}}, path),
              "")
        << "seed " << seed;
  }
}

TEST(RandomProgramsInRtl, AreThoseOfFastOnOneAndFourCores) {
  for (const int cores : {1, 4}) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
      const std::string path =
          ::testing::TempDir() + fmt::format("random_rtl_{}_{}.replay", cores, seed);
      ASSERT_EQ(test::CheckProgram(test::MakeRandomProgram(seed, cores),
                                   {{ReplayMode::kFast}, {ReplayMode::kRtl}}, path),
                "")
          << "seed " << seed << " on " << cores << " cores";
    }
  }
}

}  // namespace
}  // namespace bwmm
