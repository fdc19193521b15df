// Activation functions in double, and how much they can spread an error of their argument.
#pragma once

#include "kernels/moe_cte/moe_cte_ref.h"

namespace bwmm::reference {

double Evaluate(Function function, double x);

// A bound on |f(x') - f(x)| for every |x' - x| <= delta.
double SpreadBound(Function function, double x, double delta);

}  // namespace bwmm::reference
