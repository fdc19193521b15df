#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/random.h"
#include "host/routing.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

void Validate(const RoutingOptions& o) {
  if (o.tokens <= 0)
    throw SimError("routing: tokens {}, 1 or more is needed", o.tokens);
  if (o.experts < 1)
    throw SimError("routing: experts {}, 1 or more is needed", o.experts);
  if (o.top_k < 1 || o.top_k > o.experts)
    throw SimError("routing: top_k {}, allowed 1 to {} (experts)", o.top_k, o.experts);
  if (!(o.sigma >= 0 && o.sigma <= 10))
    throw SimError("routing: sigma {}, allowed 0 to 10", o.sigma);
  if (!(o.scale > 0) || !std::isfinite(o.scale))
    throw SimError("routing: scale {}, a positive number is needed", o.scale);
  if (o.groups < 1 || o.experts % o.groups != 0)
    throw SimError("routing: groups {}, a divisor of {} experts is needed", o.groups, o.experts);
  if (o.groups_kept < 1 || o.groups_kept > o.groups ||
      o.groups_kept * (o.experts / o.groups) < o.top_k) {
    throw SimError("routing: groups_kept {} of {} groups of {} experts cannot hold top_k {}",
                   o.groups_kept, o.groups, o.experts / o.groups, o.top_k);
  }
}

// The `count` best ids of `ids`, best first; equal values go to the lower id.
void KeepBest(std::vector<int>& ids, const std::vector<double>& value, int count) {
  std::ranges::partial_sort(ids, ids.begin() + count, [&](int a, int b) {
    return value[a] != value[b] ? value[a] > value[b] : a < b;
  });
  ids.resize(count);
}

// DeepSeek-V3's group limit: a group counts as the sum of its two best scores.
std::vector<int> VisibleExperts(const RoutingOptions& o, const std::vector<double>& score) {
  std::vector<int> visible(o.experts);
  std::iota(visible.begin(), visible.end(), 0);
  if (o.groups_kept == o.groups)
    return visible;
  const int size = o.experts / o.groups;
  std::vector<double> group_score(o.groups);
  for (int g = 0; g < o.groups; ++g) {
    std::vector<double> scores(score.begin() + g * size, score.begin() + (g + 1) * size);
    std::ranges::sort(scores, std::greater());
    group_score[g] = scores[0] + (size > 1 ? scores[1] : 0);
  }
  std::vector<int> groups(o.groups);
  std::iota(groups.begin(), groups.end(), 0);
  KeepBest(groups, group_score, o.groups_kept);
  std::erase_if(visible,
                [&](int e) { return std::ranges::find(groups, e / size) == groups.end(); });
  return visible;
}

void FillWeights(const RoutingOptions& o, const std::vector<double>& score,
                 const std::vector<int>& chosen, float* weight) {
  const bool softmax = o.router == RouterKind::kSoftmaxRenorm || o.router == RouterKind::kSoftmax;
  const double top = score[chosen[0]];
  std::vector<double> mass(chosen.size());
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    const double s = score[chosen[j]];
    mass[j] = softmax                            ? PortableExp(s - top)
              : o.router == RouterKind::kUniform ? 1.0
                                                 : 1 / (1 + PortableExp(-s));
  }
  double total = 0;
  if (o.router == RouterKind::kSoftmax) {
    for (const double s : score)
      total += PortableExp(s - top);
  } else if (o.router == RouterKind::kSigmoid) {
    total = 1;
  } else {
    total = std::accumulate(mass.begin(), mass.end(), 0.0);
  }
  for (std::size_t j = 0; j < chosen.size(); ++j)
    weight[j] = static_cast<float>(o.scale * (mass[j] / total));
}

}  // namespace

Routing GenerateRouting(const RoutingOptions& o) {
  Validate(o);
  Random popularity(o.seed, 1);
  std::vector<double> log_weight(o.experts);
  for (double& value : log_weight)
    value = o.sigma * popularity.Normal();

  Routing routing{.tokens = o.tokens, .experts = o.experts, .top_k = o.top_k};
  routing.expert.resize(static_cast<std::size_t>(o.tokens) * o.top_k);
  routing.weight.resize(routing.expert.size());
  Random noise(o.seed, 2);
  std::vector<double> score(o.experts);
  for (int t = 0; t < o.tokens; ++t) {
    ThrowIfInterrupted();
    for (int e = 0; e < o.experts; ++e)
      score[e] = log_weight[e] + noise.Gumbel();
    std::vector<int> chosen = VisibleExperts(o, score);
    KeepBest(chosen, score, o.top_k);
    const std::size_t first = static_cast<std::size_t>(t) * o.top_k;
    std::ranges::copy(chosen, routing.expert.begin() + static_cast<std::ptrdiff_t>(first));
    FillWeights(o, score, chosen, &routing.weight[first]);
  }
  return routing;
}

}  // namespace bwmm::host
