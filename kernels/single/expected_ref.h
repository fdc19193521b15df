// One element of a product as a matmul_ref.h judge expects it. Standard library only.
#pragma once

#include "kernels/single/chain_value_ref.h"
#include "kernels/single/matmul_ref.h"

namespace bwmm::reference {

struct Expected {
  ChainValue outcome;
  double bound = 0;        // of |got - outcome.value|; 0: outcome.error counts
  bool has_answer = true;  // no operand made it NaN
};

// `w` and `x` are given.k values, in contraction order.
Expected ExpectedElement(const MatmulCase& given, const double* w, const double* x);

}  // namespace bwmm::reference
