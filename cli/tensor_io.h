// Tensors of the one-instruction commands: from a file or seeded, into HBM, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "host/host_tensor.h"
#include "kernels/lang/view.h"
#include "model/ops/memory.h"

namespace bwmm::cli {

// The tensor in `dtype`, converted if need be; SimError for another shape. `path` opens the text.
host::HostTensor Fitted(host::HostTensor tensor, DType dtype,
                        const std::vector<std::int64_t>& shape, const std::string& path);

// A file's tensor (host::TensorSpec) in `dtype` with `shape`, or N(0, 1) values.
host::HostTensor TensorFrom(const std::string& name, const std::string& path, DType dtype,
                            std::vector<std::int64_t> shape, std::uint64_t seed);

// The file of an option that names a tensor (host::TensorSpec); empty where it names none.
NamedFile TensorFile(std::string option, const std::string& spec);

lang::HbmTensor PlaceInput(ops::Hbm& hbm, host::HostTensor tensor, bool with_data);
lang::HbmTensor PlaceOutput(ops::Hbm& hbm, const std::string& name, DType dtype,
                            std::vector<std::int64_t> shape, bool with_data);
host::HostTensor Fetch(ops::Hbm& hbm, const std::string& name);

}  // namespace bwmm::cli
