// One operand of bwmm matmul: where it comes from, how it reaches the machine, and what the judge
// makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/host_tensor.h"
#include "kernels/single/judgement_ref.h"
#include "kernels/single/single.h"
#include "workloads/tensors.h"

namespace bwmm::workloads {

struct OperandOptions {
  std::string name;  // "stationary"
  DType dtype = DType::kBf16;
  std::string tensor, scales;  // host::TensorSpec, or empty
  std::int64_t k = 0, columns = 0;
};

class MatmulOperand {
 public:
  // Loads or makes the tensors. SimError when they do not fit.
  MatmulOperand(const OperandOptions& options, const Setup& setup);

  kernels::MatmulOperand Place(Tensors& tensors) const;

  // After the run. [K, C], in the order in which the PE array takes the rows.
  std::vector<double> Values(Tensors& tensors) const;
  // The quantisation on the way in; none where the words are given.
  std::optional<reference::Judgement> JudgeOnline(Tensors& tensors) const;

 private:
  bool online() const { return IsX4(options_.dtype) && !scales_; }
  void LoadX4(const Setup& setup);
  void MakeWords(const Setup& setup);

  OperandOptions options_;
  host::HostTensor tensor_;
  std::optional<host::HostTensor> scales_;
};

}  // namespace bwmm::workloads
