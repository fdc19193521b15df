// What one matmul must give, in double precision, standard library only.
//
// The machine may differ by one fp32 rounding per PE row (ordinary mode) or two per scale group (MX
// mode), each at most 2^-24 of the sum of magnitudes, plus 2^-149 each where results are subnormal;
// by one more for every pass that joins another in PSUM, and by one to bf16 where PSUM is that. An
// fp32 matmul is four times the passes, each of one half of every significand on both sides. Where
// a partial sum must or may leave fp32's range, the order of rows, groups and passes decides
// whether Inf, NaN or a number is right (chain_value_ref.h).
#pragma once

#include <vector>

#include "kernels/single/judgement_ref.h"

namespace bwmm::reference {

struct MatmulCase {
  // [k][m] and [k][n]; row r of one meets row r of the other, in the order the machine takes them.
  std::vector<double> stationary = {}, moving = {};
  int k = 0, m = 0, n = 0;
  int pass_rows = 128;  // of K, in one pass through the PE array; MX: 512
  int group_rows = 1;   // whose products are summed exactly; MX: 32
  bool bf16_psum = false;
  bool fp32 = false;  // the operands
};

// out: [m][n].
Judgement JudgeMatmul(const MatmulCase& given, const std::vector<double>& out);

}  // namespace bwmm::reference
