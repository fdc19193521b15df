// Tensors of the one-instruction commands: from a file or seeded, into HBM, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/inputs/host_tensor.h"
#include "kernels/lang/view.h"
#include "model/app/output_files.h"
#include "model/ops/memory.h"

namespace bwmm::app {

// The tensor in `dtype`, converted if need be; SimError for another shape. `path` opens the text.
inputs::HostTensor Fitted(inputs::HostTensor tensor, DType dtype,
                          const std::vector<std::int64_t>& shape, const std::string& path);

// A file's tensor (inputs::TensorSpec) in `dtype` with `shape`, or N(0, 1) values.
inputs::HostTensor TensorFrom(const std::string& name, const std::string& path, DType dtype,
                              std::vector<std::int64_t> shape, std::uint64_t seed);

// The file of an option that names a tensor (inputs::TensorSpec); empty where it names none.
NamedFile TensorFile(std::string option, const std::string& spec);

lang::HbmTensor PlaceInput(ops::Hbm& hbm, inputs::HostTensor tensor, bool with_data);
lang::HbmTensor PlaceOutput(ops::Hbm& hbm, const std::string& name, DType dtype,
                            std::vector<std::int64_t> shape, bool with_data);
inputs::HostTensor Fetch(ops::Hbm& hbm, const std::string& name);

}  // namespace bwmm::app
