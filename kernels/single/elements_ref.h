// A verdict on a result whose every element has a value it must be near: what a reference of one's
// own hands over. Standard library only.
#pragma once

#include <vector>

#include "kernels/single/judgement_ref.h"

namespace bwmm::reference {

struct ElementsCase {
  // [rows][columns], before the last rounding, which is to the result's type; the bound is
  // absolute.
  std::vector<double> expected = {}, bound = {};
  int columns = 1;
  bool bf16 = true;  // the result's type, or fp32
};

// got: [rows][columns]. Adds the last rounding to the bound, Inf beyond the type's range included.
// An expected NaN is no answer: it is not counted, and must be NaN. Fails when the counts are not
// equal, the columns do not divide them, or a number has no finite bound from 0.
Judgement JudgeElements(const ElementsCase& given, const std::vector<double>& got);

}  // namespace bwmm::reference
