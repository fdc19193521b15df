#include "cli/output_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
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
  std::string path = spec;
  NameErrors({{name, spec}}, [&] { path = host::ParseTensorSpec(spec).path.string(); });
  return {std::move(name), std::move(path)};
}

void NameErrors(const std::vector<NamedFile>& files, const std::function<void()>& read) {
  try {
    read();
  } catch (const SimError& error) {
    const std::string text = error.what();
    const auto begins = [&](const NamedFile& file) {
      const auto& path = file.path;
      return !path.empty() && text.starts_with(path) &&
             std::string_view(":#").find(text[path.size()]) != std::string_view::npos;
    };
    const auto file = std::ranges::find_if(files, begins);
    if (file == files.end())
      throw;
    throw SimError("{} {}", file->name, text);
  }
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
