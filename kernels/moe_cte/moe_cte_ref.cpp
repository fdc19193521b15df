#include "kernels/moe_cte/moe_cte_ref.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/moe_cte/expert_ref.h"
#include "kernels/moe_cte/output_bound_ref.h"

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

// out[t] += affinity * row, in the order of the blocks, which is that of the experts.
void AddRows(const MoeCteProblem& problem, int expert, std::span<const std::int32_t> tokens,
             const BoundedRows& rows, MoeCteResult& result, OutputBound& bound) {
  for (std::size_t r = 0; r < tokens.size(); ++r) {
    const int row = static_cast<int>(r);
    const std::size_t t = tokens[r];
    const double affinity = problem.scaling == Scaling::kPost ? AffinityOf(problem, t, expert) : 1;
    for (int h = 0; h < problem.hidden; ++h) {
      const std::size_t at = t * problem.hidden + h;
      const std::uint8_t outcomes = rows.outcomes[row][h];
      const bool number = (outcomes & kFinite) != 0;
      const double term = number ? affinity * rows.value[row][h] : 0;
      result.output[at] += term;
      bound.Add(at, {.value = term,
                     .error = number ? std::abs(affinity) * rows.bound[row][h] : 0,
                     .variance = affinity * affinity * rows.variance[row][h],
                     .outcomes = outcomes});
    }
  }
}

}  // namespace

MoeCteResult RunMoeCte(const MoeCteProblem& problem) {
  MoeCteResult result;
  result.tokens = problem.tokens;
  result.hidden = problem.hidden;
  result.columns = problem.columns;
  const std::size_t size = static_cast<std::size_t>(problem.tokens) * problem.hidden;
  result.output.assign(size, 0.0);

  const ExpertEvaluator evaluator(problem);
  OutputBound bound(problem, result);
  const std::vector<std::vector<std::int32_t>> rows = RowsOfExperts(problem);
  for (int e = 0; e < problem.experts; ++e) {
    for (std::size_t first = 0; first < rows[e].size(); first += kRowsAtOnce) {
      const auto tokens = std::span<const std::int32_t>(rows[e]).subspan(
          first, std::min(kRowsAtOnce, rows[e].size() - first));
      AddRows(problem, e, tokens, evaluator.Run(e, tokens), result, bound);
    }
  }
  bound.Finish();
  return result;
}

}  // namespace bwmm::reference
