// The tensors of a workload: from a file or seeded, into HBM, and back.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "host/host_tensor.h"
#include "kernels/lang/view.h"
#include "model/ops/memory.h"
#include "workloads/workload.h"

namespace bwmm::workloads {

// The tensor in `dtype`, converted if need be; SimError for another shape. `path` opens the text.
host::HostTensor Fitted(host::HostTensor tensor, DType dtype,
                        const std::vector<std::int64_t>& shape, const std::string& path);

// SimError in a run without data, which the values of a file cannot change.
void CheckUsed(const std::string& path, const Setup& setup);

// A file's tensor (host::TensorSpec) in `dtype` with `shape`, or N(0, 1) values where `path` is
// empty: other ones for another seed or another name. A run without data has no use for either:
// SimError for a file, no bytes without one.
host::HostTensor TensorFrom(const std::string& name, const std::string& path, DType dtype,
                            std::vector<std::int64_t> shape, const Setup& setup);

// HBM of one run. Without data (timing) only control tensors have bytes. SimError for a name that
// is there, a negative size, and data that do not fill the shape.
class Tensors {
 public:
  Tensors() = default;
  Tensors(std::uint64_t hbm_bytes, bool with_data) : hbm_(hbm_bytes), with_data_(with_data) {}

  ops::Hbm& hbm() { return hbm_; }

  // What the program reads; writing it is refused.
  lang::HbmTensor Input(host::HostTensor tensor);
  // Indices and conditions, int32: the program's way depends on them at every fidelity.
  lang::HbmTensor Control(host::HostTensor tensor);
  // What the program writes; reading a byte of it before is refused.
  lang::HbmTensor Output(const std::string& name, DType dtype, std::vector<std::int64_t> shape);
  // What a tensor holds after the run.
  host::HostTensor Fetch(const std::string& name);

 private:
  void CheckNew(const std::string& name);
  static void CheckBytes(const host::HostTensor& tensor);

  ops::Hbm hbm_;
  std::set<std::string> names_;
  bool with_data_ = true;
};

}  // namespace bwmm::workloads
