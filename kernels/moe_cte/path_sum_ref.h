// One sum of products in the order the machine takes, to see where it leaves fp32's range.
//
//   row by row (bf16, fp8)    pass of 128 rows, a fused multiply-add each --> + PSUM, fp32
//   groups of 32 (MX)         pass of 16 groups, exact, to fp32, added    --> + PSUM, fp32, bf16
#pragma once

#include <vector>

#include "kernels/moe_cte/panel_ref.h"
#include "kernels/moe_cte/range_ref.h"

namespace bwmm::reference {

class PathSum {
 public:
  explicit PathSum(bool mx) : mx_(mx) {}

  // The next `depth` elements of x against one column of the panel, from a pass's begin on.
  void Add(const Panel& panel, int column, int depth, const Range* x);

  // All passes in one PSUM word.
  Range InPsum() const { return InChunks(passes_.size()); }
  // Chunks of passes whose sums are added in fp32: of one pass, of two, .. of all, whichever the
  // kernel had room for.
  Range InAnyChunks() const;

 private:
  Range InChunks(std::size_t size) const;

  bool mx_;
  std::vector<Range> passes_;
};

}  // namespace bwmm::reference
