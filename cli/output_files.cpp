#include "cli/output_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "host/tensor_file.h"
#include "model/support/part_file.h"
#include "model/support/sim_error.h"

namespace bwmm::cli {
namespace {

namespace fs = std::filesystem;

bool IsDevice(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

NamedFile TensorFile(std::string name, const std::string& spec) {
  return {std::move(name), spec.empty() ? "" : host::ParseTensorSpec(spec).path.string()};
}

void CheckDistinct(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, path] = outputs[i];
    if (path.empty() || IsDevice(path))
      continue;
    for (const NamedFile& input : inputs) {
      if (!input.path.empty() && SameFile(path, input.path))
        throw SimError("{} {}: {} reads the same file", name, path, input.name);
    }
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      const NamedFile& other = outputs[earlier];
      if (!other.path.empty() && SameFile(path, other.path))
        throw SimError("{} {}: {} has the same file", name, path, other.name);
    }
  }
}

}  // namespace bwmm::cli
