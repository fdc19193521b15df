#include "kernels/moe_cte/moe_cte_ref.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/moe_cte/expert_ref.h"
#include "kernels/moe_cte/formats_ref.h"

namespace bwmm::reference {
namespace {

constexpr std::size_t kRowsAtOnce = 256;  // of one expert: bounds the memory of the intermediate

// Tokens of each expert in the order of its blocks.
std::vector<std::vector<std::int32_t>> RowsOfExperts(const MoeCteProblem& problem) {
  std::vector<std::vector<std::int32_t>> rows(problem.experts);
  for (int b = 0; b < problem.blocks; ++b) {
    for (int j = 0; j < problem.block_size; ++j) {
      const std::int32_t t =
          problem.token_position_to_id[static_cast<std::size_t>(b) * problem.block_size + j];
      if (t >= 0 && t < problem.tokens)
        rows[problem.block_to_expert[b]].push_back(t);
    }
  }
  return rows;
}

// Adds one expert's rows to the output; sigma holds the variance until Finish. Every addition to an
// output row rounds to bf16; the sum of magnitudes so far bounds the running sum whatever its
// signs.
class Accumulator {
 public:
  Accumulator(const MoeCteProblem& problem, MoeCteResult& result)
      : problem_(problem),
        result_(result),
        magnitude_(result.output.size(), 0.0),
        mx_(WeightReader(problem).mx()) {}

  void Add(int expert, std::span<const std::int32_t> tokens, const ExpertResult& rows) {
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      const std::size_t t = tokens[r];
      const double affinity =
          problem_.scaling == Scaling::kPost ? AffinityOf(problem_, t, expert) : 1;
      const double* value = rows.value[static_cast<int>(r)];
      const double* bound = rows.bound[static_cast<int>(r)];
      const double* variance = rows.variance[static_cast<int>(r)];
      const std::uint8_t* outcomes = rows.outcomes[static_cast<int>(r)];
      for (int h = 0; h < problem_.hidden; ++h) {
        const std::size_t at = t * problem_.hidden + h;
        const bool number = (outcomes[h] & kFinite) != 0;
        const double term = number ? affinity * value[h] : 0;
        const double error = number ? std::abs(affinity) * bound[h] : 0;
        magnitude_[at] += std::abs(term) + error;
        // With MX weights the product is rounded on its own, else it is fused with the addition.
        const double product = mx_ && problem_.scaling == Scaling::kPost
                                   ? kUnitBf16 * (std::abs(term) + error)
                                   : 4 * kUnitFp32 * (std::abs(term) + error);
        const double sum = kUnitBf16 * magnitude_[at] + (term == 0 ? 0 : kTiny);
        result_.output[at] += term;
        result_.bound[at] += error + product + sum;
        result_.sigma[at] +=
            affinity * affinity * variance[h] + (product * product + sum * sum) / 3;
        if (outcomes[h] != kFinite)
          Join(at, outcomes[h]);
        // One output row, in the order of the blocks, which is that of the experts.
        if (problem_.split_intermediate && !(magnitude_[at] < kSafeMagnitude))
          Round(at, result_.output[at], result_.output[at]);
      }
    }
  }

  void Finish() {
    for (std::size_t at = 0; at < magnitude_.size(); ++at) {
      // Each core has a plane when it computes whole blocks: which term goes to which is open, so a
      // plane may get the positive ones alone, or the negative ones. They are added once more.
      if (!problem_.split_intermediate && !(magnitude_[at] < kSafeMagnitude)) {
        Round(at, (result_.output[at] - magnitude_[at]) / 2, 0);
        Round(at, 0, (result_.output[at] + magnitude_[at]) / 2);
        Round(at, result_.output[at], result_.output[at]);
      }
      // kUnitBf16 has room for one addition in fp32 before the rounding, not for more of them.
      const double planes = kUnitBf16 + std::max(0, problem_.cores - 2) * kUnitFp32;
      const double sum =
          problem_.split_intermediate || problem_.cores == 1 ? 0 : planes * magnitude_[at];
      result_.bound[at] += sum;
      result_.sigma[at] = std::sqrt(result_.sigma[at] + sum * sum / 3);
      if (!result_.outcomes.empty() && (result_.outcomes[at] & kFinite) == 0)
        result_.output[at] = NoNumber(result_.outcomes[at]);
    }
    if (problem_.worst_case)
      result_.sigma.clear();
  }

 private:
  void Join(std::size_t at, unsigned outcomes) {
    if (result_.outcomes.empty())
      result_.outcomes.assign(result_.output.size(), kFinite);
    result_.outcomes[at] = static_cast<std::uint8_t>(AddOutcomes(result_.outcomes[at], outcomes));
  }

  // A sum that may lie between low and high, and off by its bound, becomes bf16.
  void Round(std::size_t at, double low, double high) {
    const double error = std::isnan(result_.bound[at]) ? HUGE_VAL : result_.bound[at];
    Join(at, OutcomesOfBf16(low - error, high + error));
  }

  static double NoNumber(unsigned outcomes) {
    if (outcomes == kPositiveInf)
      return HUGE_VAL;
    return outcomes == kNegativeInf ? -HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  }

  const MoeCteProblem& problem_;
  MoeCteResult& result_;
  std::vector<double> magnitude_;
  bool mx_;
};

}  // namespace

double AffinityOf(const MoeCteProblem& problem, std::size_t token, int expert) {
  const std::size_t at = token * problem.experts + expert;
  return problem.affinities_fp32 != nullptr ? double{problem.affinities_fp32[at]}
                                            : DecodeBf16(problem.affinities_bf16[at]);
}

MoeCteResult RunMoeCte(const MoeCteProblem& problem) {
  MoeCteResult result;
  result.tokens = problem.tokens;
  result.hidden = problem.hidden;
  result.columns = problem.columns;
  const std::size_t size = static_cast<std::size_t>(problem.tokens) * problem.hidden;
  result.output.assign(size, 0.0);
  result.bound.assign(size, 0.0);
  result.sigma.assign(size, 0.0);

  const ExpertEvaluator evaluator(problem);
  Accumulator accumulator(problem, result);
  const std::vector<std::vector<std::int32_t>> rows = RowsOfExperts(problem);
  for (int e = 0; e < problem.experts; ++e) {
    for (std::size_t first = 0; first < rows[e].size(); first += kRowsAtOnce) {
      const auto tokens = std::span<const std::int32_t>(rows[e]).subspan(
          first, std::min(kRowsAtOnce, rows[e].size() - first));
      accumulator.Add(e, tokens, evaluator.Run(e, tokens));
    }
  }
  accumulator.Finish();
  return result;
}

}  // namespace bwmm::reference
