#include "kernels/moe_cte/path_sum_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/moe_cte/expert_bound_ref.h"

namespace bwmm::reference {
namespace {

constexpr int kArrayRows = 128;
constexpr int kGroup = 32;
// What 32 additions of doubles may lose of what is exact in the machine.
constexpr double kDoubleError = 0x1p-46;

// p = fma(w, x, p), the ordinary case without the sets.
Range MultiplyAdd(double w, const Range& x, const Range& p) {
  if (p.can == kFinite && x.can == kFinite) {
    const double value = p.value + w * x.value;
    double error = p.error + std::abs(w) * x.error;
    error += kUnitFp32 * (std::abs(value) + error) + kTiny;
    if (std::abs(value) + error < kSafeMagnitude)
      return {value, error};
  }
  return RoundedToFp32(Plus(p, Times(Exactly(w), x)));
}

Range SumRows(const Panel& panel, int column, int first, int last, const Range* x) {
  Range p;
  for (int k = first; k < last && p.can != kNaN; ++k)
    p = MultiplyAdd(panel.weight[k][column], x[k], p);
  return p;
}

Range SumGroup(const Panel& panel, int column, int first, const Range* x) {
  Range sum;
  double magnitude = 0;
  for (int k = first; k < first + kGroup; ++k) {
    const Range product = Times(Exactly(panel.weight[k][column]), x[k]);
    magnitude += std::abs(product.value);
    sum = Plus(sum, product);
  }
  if ((sum.can & kFinite) != 0)
    sum.error += kDoubleError * magnitude;
  return RoundedToFp32(sum);
}

}  // namespace

void PathSum::Add(const Panel& panel, int column, int depth, const Range* x) {
  if (!mx_) {
    for (int k = 0; k < depth; k += kArrayRows)
      passes_.push_back(SumRows(panel, column, k, std::min(k + kArrayRows, depth), x));
    return;
  }
  Range p;
  for (int k = 0; k < depth && p.can != kNaN; k += kGroup)
    p = RoundedToFp32(Plus(p, SumGroup(panel, column, k, x)));
  passes_.push_back(p);
}

Range PathSum::InChunks(std::size_t size) const {
  Range total;
  for (std::size_t first = 0; first < passes_.size(); first += size) {
    Range psum;
    for (std::size_t pass = first; pass < std::min(first + size, passes_.size()); ++pass) {
      psum = RoundedToFp32(Plus(psum, passes_[pass]));
      if (mx_)
        psum = RoundedToBf16(psum);
    }
    total = RoundedToFp32(Plus(total, psum));
  }
  return total;
}

Range PathSum::InAnyChunks() const {
  Range any = InChunks(passes_.size());
  for (std::size_t size = 1; size < passes_.size(); ++size)
    any = Either(any, InChunks(size));
  return any;
}

}  // namespace bwmm::reference
