// One expert's matrix of dense weights, padded with zeros.
#pragma once

#include <cstddef>
#include <vector>

namespace bwmm::host {

// W[expert](output channel, contraction index), zero outside the model's size.
class DenseMatrix {
 public:
  DenseMatrix(const std::vector<float>& values, int expert, int outputs, int inputs)
      : values_(values.data() + std::size_t(expert) * outputs * inputs),
        outputs_(outputs),
        inputs_(inputs) {}

  float operator()(int output, int input) const {
    return output < outputs_ && input < inputs_ ? values_[std::size_t(output) * inputs_ + input]
                                                : 0.0f;
  }

 private:
  const float* values_;
  int outputs_;
  int inputs_;
};

}  // namespace bwmm::host
