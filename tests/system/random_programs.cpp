// Random programs from seed FROM to seed TO, in every way there is. sim_scripts/random_programs.sh
// calls it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "model/engine/make_engines.h"
#include "tests/system/random_check.h"
#include "tests/system/random_program.h"

int main(int argc, char** argv) {
  using namespace bwmm;
  using replay::ReplayMode;
  if (argc != 3) {
    std::fputs("usage: random_programs FROM TO\n", stderr);
    return 2;
  }
  const unsigned from = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  const unsigned to = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  std::vector<test::Way> ways = {{ReplayMode::kFast},
                                 {ReplayMode::kExecutor},
                                 {ReplayMode::kTiming},
                                 {ReplayMode::kFast, test::InReverse()}};
  if (engine::HasRtl())
    ways.push_back({ReplayMode::kRtl});
  int failures = 0;
  for (unsigned seed = from; seed <= to; ++seed) {
    const std::string path = fmt::format("random_{}.replay", seed);
    const std::string text = test::CheckProgram(test::MakeRandomProgram(seed), ways, path);
    if (text.empty())
      continue;
    ++failures;
    fmt::print("seed {}: {}\n", seed, text);
    std::fflush(stdout);
  }
  fmt::print("random_programs: seeds {} to {}, {} failed\n", from, to, failures);
  return failures == 0 ? 0 : 1;
}
