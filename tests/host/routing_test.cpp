// Routing traces and the generator.
#include "host/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "host/portable_math.h"
#include "host/random.h"
#include "tests/host/temp_dir.h"

namespace bwmm::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RoutingCsv, ReadsColumnsInAnyOrderAndLeavesOutMissingSlots) {
  const TempDir dir;
  const auto path = dir.Write("r.csv",
                              "# a comment\n"
                              "domain,weight,expert,slot,token\r\n"
                              "x,0.75,2,1,0\r\n"
                              "\n"
                              "x, 0.25 ,0,0,0\n"
                              "x,1e-3,1,0,1\n"
                              "x,0.5,-1,1,1\n"
                              "x,1,0,0,2\n");
  const Routing routing = LoadRoutingCsv(path, 3, 3, 2);
  EXPECT_THAT(routing.expert, ElementsAre(0, 2, 1, -1, 0, -1));
  EXPECT_THAT(routing.weight, ElementsAre(0.25f, 0.75f, 1e-3f, 0, 1, 0));
  EXPECT_EQ(LoadRoutingCsv(path, 1, 3, 2).expert.size(), 2u);
}

TEST(RoutingCsv, TokensBeyondTheWantedOnesTakeNoSlot) {
  const TempDir dir;
  // Token 1 has slot 0 twice, which is refused only where its slots are kept.
  const auto path = dir.Write("r.csv", "token,slot,expert,weight\n0,0,2,1\n1,0,0,1\n1,0,1,1\n");
  EXPECT_THAT(LoadRoutingCsv(path, 1, 3, 2).expert, ElementsAre(2, -1));
  EXPECT_THAT(ErrorOf([&] { LoadRoutingCsv(path, 2, 3, 2); }), HasSubstr("slot 0 twice"));
}

TEST(RoutingCsv, ReadsPastAByteOrderMark) {
  const TempDir dir;
  const auto path = dir.Write("r.csv", "\xef\xbb\xbftoken,slot,expert,weight\n0,0,1,1\n");
  EXPECT_THAT(LoadRoutingCsv(path, 1, 3, 1).expert, ElementsAre(1));
}

TEST(RoutingCsv, RejectsBadLinesByNumber) {
  const TempDir dir;
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty"},
      {"token,slot,expert\n0,0,0\n", "no column 'weight'"},
      {"0,0,0,1\n", "no column 'token'"},
      {"token,slot,expert,weight,slot\n", "column 'slot' twice"},
      {"token,slot,expert,weight\n0,0,4,1\n", ":2: expert 4, allowed 0 to 3"},
      {"token,slot,expert,weight\n0,0,-2,1\n", ":2: expert -2"},
      {"token,slot,expert,weight\n0,0,1,nan\n", ":2: weight nan"},
      {"token,slot,expert,weight\n0,0,1,inf\n", ":2: weight inf"},
      {"token,slot,expert,weight\n0,0,1,-0.5\n", ":2: weight -0.5"},
      {"token,slot,expert,weight\n0,0,1,1e999\n", ":2: weight '1e999'"},
      {"token,slot,expert,weight\n0,0,1,\n", ":2: weight ''"},
      {"token,slot,expert,weight\n0,0,1.0,1\n", ":2: expert '1.0'"},
      {"token,slot,expert,weight\n0,2,1,1\n", ":2: slot 2, allowed 0 to 1"},
      {"token,slot,expert,weight\n0,-1,1,1\n", ":2: slot -1"},
      {"token,slot,expert,weight\n-1,0,1,1\n", ":2: token -1"},
      {"token,slot,expert,weight\n99999999999999999999,0,1,1\n", ":2: token"},
      {"token,slot,expert,weight\n0,0,1\n", ":2: 3 fields, column 'weight' is missing"},
      {"token,slot,expert,weight\n0,0,1,1\n0,0,2,1\n", ":3: token 0 has slot 0 twice"},
      {"token,slot,expert,weight\n0,0,1,1\n\n0,1,1,1\n", ":4: token 0 has expert 1 twice"},
      {"token,slot,expert,weight\n1,0,1,1\n", "no line for token 0, 2 tokens are wanted"},
      {"token,slot,expert,weight\n0,0,1,1\n", "no line for token 1, 2 tokens are wanted"},
      {"token,slot,expert,weight\n0,0,1,1\n1,0,1,1\n9,0,7,1\n", ":4: expert 7"},
  };
  for (const auto& [text, expected] : cases) {
    const auto path = dir.Write("r.csv", text);
    EXPECT_THAT(ErrorOf([&] { LoadRoutingCsv(path, 2, 4, 2); }), HasSubstr(expected)) << text;
  }
  const auto path = dir.Write("r.csv", "token,slot,expert,weight\n0,0,1,1\n");
  EXPECT_THAT(ErrorOf([&] { LoadRoutingCsv(path, 1, 4, 5); }),
              HasSubstr("top_k 5, allowed 1 to 4"));
  EXPECT_THAT(ErrorOf([&] { LoadRoutingCsv(path, 0, 4, 1); }), HasSubstr("tokens 0"));
}

// Other traces miss a column, number tokens otherwise, or begin again at every step.
TEST(RoutingCsv, RejectsOtherTracesNamingTheConverter) {
  const TempDir dir;
  for (const char* text : {"layer,ids\n0,1 2\n", "token,slot,expert,weight\n100,0,1,1\n",
                           "token,slot,expert,weight\n0,0,1,1\n0,0,2,1\n"}) {
    const auto path = dir.Write("r.csv", text);
    EXPECT_THAT(ErrorOf([&] { LoadRoutingCsv(path, 2, 4, 2); }),
                HasSubstr("; sim_scripts/convert_routing.py converts other traces"))
        << text;
  }
}

RoutingOptions Options(RouterKind router = RouterKind::kSoftmaxRenorm) {
  return {.tokens = 2000, .experts = 32, .top_k = 4, .sigma = 0.4, .router = router, .seed = 11};
}

TEST(GenerateRouting, SavedAndReadBackIsTheSame) {
  const TempDir dir;
  const Routing routing = GenerateRouting(Options());
  SaveRoutingCsv(dir / "r.csv", routing);
  const Routing loaded = LoadRoutingCsv(dir / "r.csv", 2000, 32, 4);
  EXPECT_EQ(loaded.expert, routing.expert);
  EXPECT_EQ(loaded.weight, routing.weight);
}

// FNV-1a over ids and weight bits: pinned, so that a run of today can be repeated in ten years.
std::uint64_t HashOf(const Routing& routing) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint32_t word) {
    for (int i = 0; i < 4; ++i)
      hash = (hash ^ (word >> (8 * i) & 0xff)) * 0x100000001b3;
  };
  for (const std::int32_t e : routing.expert)
    add(static_cast<std::uint32_t>(e));
  for (const float w : routing.weight)
    add(std::bit_cast<std::uint32_t>(w));
  return hash;
}

TEST(GenerateRouting, SameSeedSameBitsForEver) {
  EXPECT_EQ(HashOf(GenerateRouting(Options())), 17209967392133687783u);
  RoutingOptions grouped = Options(RouterKind::kSigmoidRenorm);
  grouped.groups = 8;
  grouped.groups_kept = 4;
  EXPECT_EQ(HashOf(GenerateRouting(grouped)), 1460568020589000128u);
}

TEST(GenerateRouting, ExpertsOfATokenDiffer) {
  const Routing routing = GenerateRouting(Options());
  for (int t = 0; t < routing.tokens; ++t) {
    const std::set<int> experts(routing.expert.begin() + 4 * t, routing.expert.begin() + 4 * t + 4);
    EXPECT_EQ(experts.size(), 4u);
    EXPECT_GE(*experts.begin(), 0);
    EXPECT_LT(*experts.rbegin(), 32);
  }
}

TEST(GenerateRouting, WeightsFollowTheRouter) {
  for (const RouterKind router :
       {RouterKind::kSoftmaxRenorm, RouterKind::kSoftmax, RouterKind::kSigmoidRenorm,
        RouterKind::kSigmoid, RouterKind::kUniform}) {
    RoutingOptions options = Options(router);
    options.scale = 2.5;
    const Routing routing = GenerateRouting(options);
    for (int t = 0; t < routing.tokens; ++t) {
      const auto first = routing.weight.begin() + 4 * t;
      EXPECT_TRUE(std::is_sorted(first, first + 4, std::greater())) << "best first";
      EXPECT_GT(first[3], 0);
      const double sum = std::accumulate(first, first + 4, 0.0);
      if (router == RouterKind::kSoftmax) {
        EXPECT_LT(sum, 2.5);
      } else if (router == RouterKind::kSigmoid) {
        EXPECT_LT(first[0], 2.5);
      } else {
        EXPECT_NEAR(sum, 2.5, 1e-6);
      }
      if (router == RouterKind::kUniform) {
        EXPECT_EQ(first[0], 0.625f);
      }
    }
  }
}

double Gini(const Routing& routing) {
  std::vector<double> loads(routing.experts, 0.0);
  for (const std::int32_t e : routing.expert)
    loads[e] += 1;
  std::ranges::sort(loads);
  double sum = 0;
  for (int i = 0; i < routing.experts; ++i)
    sum += (2 * i - routing.experts + 1) * loads[i];
  return sum / (routing.experts * static_cast<double>(routing.expert.size()));
}

TEST(GenerateRouting, LoadHasTheGiniIndexOfItsSigma) {
  for (const double sigma : {0.0, 0.19, 0.43, 0.7}) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      mean += Gini(GenerateRouting(
                  {.tokens = 2048, .experts = 256, .top_k = 8, .sigma = sigma, .seed = seed})) /
              8;
    }
    // Drawing finite counts adds some; drawing without replacement takes some from the busiest.
    EXPECT_NEAR(mean, std::erf(sigma / 2), 0.07) << "sigma " << sigma;
  }
}

TEST(GenerateRouting, EveryTokenStaysInItsBestGroups) {
  RoutingOptions options = Options();
  options.groups = 8;
  options.groups_kept = 2;
  const Routing routing = GenerateRouting(options);
  for (int t = 0; t < routing.tokens; ++t) {
    std::set<int> groups;
    for (int s = 0; s < 4; ++s)
      groups.insert(routing.expert[4 * t + s] / 4);
    EXPECT_LE(groups.size(), 2u);
  }
}

TEST(GenerateRouting, AllExpertsAtOnceAreAllowed) {
  const Routing routing = GenerateRouting({.tokens = 1, .experts = 3, .top_k = 3});
  EXPECT_THAT(routing.expert, testing::UnorderedElementsAre(0, 1, 2));
}

TEST(GenerateRouting, RejectsImpossibleOptions) {
  const std::pair<RoutingOptions, const char*> cases[] = {
      {{.tokens = 0, .experts = 4, .top_k = 1}, "tokens 0"},
      {{.tokens = 1, .experts = 0, .top_k = 1}, "experts 0"},
      {{.tokens = 1, .experts = 4, .top_k = 0}, "top_k 0, allowed 1 to 4"},
      {{.tokens = 1, .experts = 4, .top_k = 5}, "top_k 5, allowed 1 to 4"},
      {{.tokens = 1, .experts = 4, .top_k = 1, .sigma = -1}, "sigma -1"},
      {{.tokens = 1, .experts = 4, .top_k = 1, .sigma = NAN}, "sigma nan"},
      {{.tokens = 1, .experts = 4, .top_k = 1, .scale = 0}, "scale 0"},
      {{.tokens = 1, .experts = 4, .top_k = 1, .groups = 3}, "groups 3"},
      {{.tokens = 1, .experts = 4, .top_k = 3, .groups = 2, .groups_kept = 1}, "groups_kept 1"},
  };
  for (const auto& [options, expected] : cases)
    EXPECT_THAT(ErrorOf([&] { GenerateRouting(options); }), HasSubstr(expected));
}

TEST(PortableMath, AgreesWithTheLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    EXPECT_NEAR(PortableLog(x), std::log(x), 1e-15 * (1 + std::abs(std::log(x))));
  for (double x = 0.5; x < 2; x += 0.001)
    EXPECT_NEAR(PortableLog(x), std::log(x), 4e-16);
  EXPECT_NEAR(PortableLog(4.9406564584124654e-324), std::log(4.9406564584124654e-324), 1e-12);
  for (double x = -700; x < 700; x += 0.37)
    EXPECT_NEAR(PortableExp(x) / std::exp(x), 1, 4e-15) << x;
}

TEST(Random, NormalHasTheMomentsOfANormal) {
  Random random(5);
  double sum = 0, squares = 0, fourths = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(fourths / kCount, 3, 0.1);
}

}  // namespace
}  // namespace bwmm::host
