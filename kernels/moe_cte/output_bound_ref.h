// What the additions of a layer's rows to its output may change: bound, sigma and outcomes of each
// output element. Every addition rounds to bf16; the sum of magnitudes so far bounds the running
// sum whatever its signs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm::reference {

class OutputBound {
 public:
  // Fills bound, sigma and outcomes of `result`, whose output another one sums up.
  OutputBound(const MoeCteProblem& problem, MoeCteResult& result);

  // What is added to the output, the affinity multiplied in; 0 +- 0 where it can be no number.
  struct Term {
    double value, error, variance;
    std::uint8_t outcomes;
  };
  // After the term has been added to output element `at`.
  void Add(std::size_t at, const Term& term);
  // After the last one. Output elements that can be no number become what they are instead.
  void Finish();

 private:
  void Join(std::size_t at, unsigned outcomes);
  void Round(std::size_t at, double low, double high);

  const MoeCteProblem& problem_;
  MoeCteResult& result_;
  std::vector<double> magnitude_;
  bool rounds_product_;
};

}  // namespace bwmm::reference
