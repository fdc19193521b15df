#include "kernels/single/expected_ref.h"

#include <algorithm>
#include <cmath>

namespace bwmm::reference {
namespace {

// Below this sum of magnitudes no partial sum can leave fp32's range.
constexpr double kSafe = 0x1p126;

class Product {
 public:
  Product(const MatmulCase& given, const double* w, const double* x)
      : given_(given), w_(w), x_(x) {}

  Expected Judge() const {
    Expected expected;
    double& sum = expected.outcome.value;
    double& bound = expected.bound;
    double magnitude = 0;
    for (int first = 0; first < given_.k; first += given_.pass_rows) {
      const int last = std::min(first + given_.pass_rows, given_.k);
      double pass_magnitude = 0;
      for (int r = first; r < last; ++r) {
        const double product = w_[r] * x_[r];
        sum += product;
        pass_magnitude += std::fabs(product);
      }
      const int rows = last - first;
      const int roundings = given_.group_rows == 1 ? rows : 2 * (rows / given_.group_rows);
      bound += roundings * Fp32(pass_magnitude);
      magnitude += pass_magnitude;
      if (first > 0)
        bound += Fp32(magnitude + bound);
      if (given_.bf16_psum)
        bound += kToBf16.half_ulp * (1 + 0x1p-14) * (magnitude + bound) + 2 * kToBf16.half_least;
    }
    if (magnitude < kSafe)
      return expected;
    return {.outcome = InOrder(), .bound = 0, .has_answer = HasAnswer()};
  }

 private:
  static double Fp32(double magnitude) {
    return kToFp32.half_ulp * (1 + 0x1p-20) * magnitude + 2 * kToFp32.half_least;
  }

  bool HasAnswer() const {
    for (int r = 0; r < given_.k; ++r) {
      if (std::isnan(w_[r] * x_[r]))
        return false;
    }
    return true;
  }

  // A scale group, or one row: products summed without a rounding of the machine.
  ChainValue Group(int first) const {
    double sum = 0;
    double magnitude = 0;
    for (int r = first; r < first + given_.group_rows; ++r) {
      sum += w_[r] * x_[r];
      magnitude += std::fabs(w_[r] * x_[r]);
    }
    ChainValue outcome = KnownValue(sum);
    if (given_.group_rows == 1 || !outcome.finite)
      return outcome;
    outcome.error = given_.group_rows * 0x1p-53 * magnitude;  // of the sum in double
    return Rounded(outcome, kToFp32);
  }

  ChainValue InOrder() const {
    ChainValue psum;
    for (int first = 0; first < given_.k; first += given_.pass_rows) {
      const int last = std::min(first + given_.pass_rows, given_.k);
      ChainValue p;
      for (int r = first; r < last; r += given_.group_rows)
        p = Rounded(Sum(p, Group(r)), kToFp32);
      psum = first == 0 ? p : Rounded(Sum(psum, p), kToFp32);
      if (given_.bf16_psum)
        psum = Rounded(psum, kToBf16);
    }
    return psum;
  }

  const MatmulCase& given_;
  const double* w_;
  const double* x_;
};

}  // namespace

Expected ExpectedElement(const MatmulCase& given, const double* w, const double* x) {
  return Product(given, w, x).Judge();
}

}  // namespace bwmm::reference
