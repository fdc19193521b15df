// Which experts each token goes to, and with what weight: read from a trace or generated.
//
//   token 0 -> (expert 5, 0.61) (expert 2, 0.39)
//   token 1 -> (expert 2, 0.80) (-1, unused)
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "host/router_kind.h"

namespace bwmm::host {

inline constexpr std::int32_t kUnusedSlot = -1;

struct Routing {
  int tokens = 0;
  int experts = 0;
  int top_k = 0;
  std::vector<std::int32_t> expert = {};  // [tokens * top_k], kUnusedSlot where a slot is empty
  std::vector<float> weight = {};         // [tokens * top_k], 0 where a slot is empty
};

// A CSV file with the columns token, slot, expert and weight in any order. The first `tokens`
// tokens are taken; each must have at least one line, and a slot without a line is unused.
Routing LoadRoutingCsv(const std::filesystem::path& path, int tokens, int experts, int top_k);

// Writes what LoadRoutingCsv reads.
void SaveRoutingCsv(const std::filesystem::path& path, const Routing& routing);

struct RoutingOptions {
  int tokens = 0;
  int experts = 0;
  int top_k = 0;
  double sigma = 0.43;  // of the log-normal expert popularity; the Gini index is erf(sigma / 2)
  RouterKind router = RouterKind::kSoftmaxRenorm;
  double scale = 1;     // the router's factor on the final weights
  int groups = 1;       // experts are split in this many groups (DeepSeek-V3: 8) ..
  int groups_kept = 1;  // .. and a token sees the experts of its best ones only (4)
  std::uint64_t seed = 0;
};

// Token t scores expert e with sigma * N_e + Gumbel(t, e): the largest top_k scores are a draw
// without replacement in proportion to the popularity exp(sigma * N_e). Equal scores go to the
// lower id. The same options give the same bits on every host.
Routing GenerateRouting(const RoutingOptions& options);

}  // namespace bwmm::host
