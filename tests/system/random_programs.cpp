// Random programs from seed FROM to seed TO, in every way there is, on two cores or CORES of them.
// sim_scripts/random_programs.sh calls it.
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "model/engine/make_engines.h"
#include "model/support/setting.h"
#include "tests/system/random_check.h"
#include "tests/system/random_program.h"

namespace {

constexpr unsigned kMaxCores = 8;

// A number from `least` to `most`; without one it says so.
std::optional<unsigned> NumberOf(const char* name, const char* text, unsigned least,
                                 unsigned most) {
  unsigned value = 0;
  if (bwmm::ParseWhole(text, value) == bwmm::Parsed::kNumber && value >= least && value <= most)
    return value;
  fmt::print(stderr, "random_programs: {}: {}, allowed {} to {}\n", name, text, least, most);
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bwmm;
  using replay::ReplayMode;
  if (argc != 3 && argc != 4) {
    std::fputs("usage: random_programs FROM TO [CORES]\n", stderr);
    return 2;
  }
  constexpr unsigned kLastSeed = std::numeric_limits<unsigned>::max() - 1;
  const auto first = NumberOf("FROM", argv[1], 0, kLastSeed);
  const auto last = first ? NumberOf("TO", argv[2], *first, kLastSeed) : first;
  const auto cores =
      argc == 4 && last ? NumberOf("CORES", argv[3], 1, kMaxCores) : std::optional(2u);
  if (!last || !cores)
    return 2;
  const unsigned from = *first, to = *last;
  std::vector<test::Way> ways = {{ReplayMode::kFast},
                                 {ReplayMode::kExecutor},
                                 {ReplayMode::kTiming},
                                 {ReplayMode::kFast, test::InReverse()}};
  if (engine::HasRtl())
    ways.push_back({ReplayMode::kRtl});
  int failures = 0;
  for (unsigned seed = from; seed <= to; ++seed) {
    const std::string path = fmt::format("random_{}.replay", seed);
    const std::string text =
        test::CheckProgram(test::MakeRandomProgram(seed, static_cast<int>(*cores)), ways, path);
    if (text.empty())
      continue;
    ++failures;
    fmt::print("seed {}: {}\n", seed, text);
    std::fflush(stdout);
  }
  fmt::print("random_programs: seeds {} to {}, {} failed\n", from, to, failures);
  return failures == 0 ? 0 : 1;
}
