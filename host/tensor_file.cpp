#include "host/tensor_file.h"

#include <set>

#include "host/file_io.h"
#include "host/npy.h"
#include "host/safetensors.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"

namespace bwmm::host {
namespace {

enum class Format { kNpy, kSafetensors };

Format FormatOf(const std::filesystem::path& path) {
  if (path.extension() == ".npy")
    return Format::kNpy;
  if (path.extension() == ".safetensors")
    return Format::kSafetensors;
  throw SimError("{}: extension '{}', .npy and .safetensors are known", path.string(),
                 path.extension().string());
}

void RequireData(const std::filesystem::path& path, const HostTensor& tensor) {
  if (!tensor.has_data()) {
    throw SimError("{}: tensor '{}' has {} of {} bytes, a file needs all", path.string(),
                   tensor.name, tensor.data.size(), tensor.bytes());
  }
}

HostTensor Load(const std::filesystem::path& path, std::string_view name,
                const WantedType& wanted) {
  const Format format = FormatOf(path);
  const std::vector<std::byte> file = ReadFile(path);
  if (format == Format::kNpy) {
    RawTensor raw = ParseNpy(file, path.string());
    raw.name = name.empty() ? path.stem().string() : std::string(name);
    return Interpret(raw, wanted, path.string());
  }
  const std::vector<RawTensor> tensors = ParseSafetensors(file, path.string());
  std::string known;
  for (const RawTensor& raw : tensors) {
    if (raw.name == name || (name.empty() && tensors.size() == 1))
      return Interpret(raw, wanted, fmt::format("{}: tensor '{}'", path.string(), raw.name));
    known += fmt::format("{}{}", known.empty() ? "" : ", ", raw.name);
  }
  throw SimError("{}: tensor '{}', the file has: {}", path.string(), name, known);
}

bool IsTensorFile(std::string_view path) {
  return path.ends_with(".npy") || path.ends_with(".safetensors");
}

}  // namespace

TensorSpec ParseTensorSpec(const std::string& text) {
  std::string rest = text;
  TensorSpec spec;
  constexpr std::string_view kOfMany = ".safetensors#";
  const std::size_t colon = text.rfind(':');
  const std::string before = text.substr(0, colon);
  if (colon != std::string::npos &&
      (IsTensorFile(before) || before.find(kOfMany) != std::string::npos)) {
    const std::string type = text.substr(colon + 1);
    rest = before;
    spec.dtype = ParseDType(type);
    if (!spec.dtype) {
      throw SimError("{}: type '{}', allowed: {}", text, type,
                     "bfloat16, float16, float32, float8_e4m3fn, float8_e4m3, float8_e5m2, "
                     "float8_e8m0fnu, float8_e4m3fn_x4, float8_e5m2_x4, float4_e2m1fn_x4");
    }
  }
  if (const std::size_t at = rest.rfind(kOfMany); at != std::string::npos) {
    spec.tensor = rest.substr(at + kOfMany.size());
    rest.resize(at + kOfMany.size() - 1);
  }
  spec.path = rest;
  return spec;
}

HostTensor LoadTensor(const TensorSpec& spec, std::vector<DType> carried) {
  return Load(spec.path, spec.tensor, {.as = spec.dtype, .carried = std::move(carried)});
}

HostTensor LoadTensor(const std::filesystem::path& path, std::string_view name,
                      std::optional<DType> as) {
  return Load(path, name, {.as = as});
}

std::vector<HostTensor> LoadTensors(const std::filesystem::path& path) {
  if (FormatOf(path) != Format::kSafetensors)
    return {LoadTensor(path)};
  const std::vector<std::byte> file = ReadFile(path);
  std::vector<HostTensor> tensors;
  for (const RawTensor& raw : ParseSafetensors(file, path.string())) {
    tensors.push_back(Interpret(raw, {}, fmt::format("{}: tensor '{}'", path.string(), raw.name)));
  }
  return tensors;
}

void CheckTensorFileName(const std::filesystem::path& path) {
  FormatOf(path);
}

void SaveTensor(const std::filesystem::path& path, const HostTensor& tensor) {
  if (FormatOf(path) == Format::kSafetensors) {
    SaveTensors(path, {tensor});
    return;
  }
  RequireData(path, tensor);
  const std::string header = NpyHeader(tensor);
  WriteFileAtomically(path, {BytesOf(header), tensor.data});
}

void SaveTensors(const std::filesystem::path& path, const std::vector<HostTensor>& tensors) {
  if (FormatOf(path) != Format::kSafetensors) {
    throw SimError("{}: extension '{}', several tensors need .safetensors", path.string(),
                   path.extension().string());
  }
  std::set<std::string> names;
  std::vector<std::byte> data;
  for (const HostTensor& tensor : tensors) {
    RequireData(path, tensor);
    if (!names.insert(tensor.name).second)
      throw SimError("{}: two tensors are called '{}'", path.string(), tensor.name);
    data.insert(data.end(), tensor.data.begin(), tensor.data.end());
  }
  const std::string header = SafetensorsHeader(tensors);
  WriteFileAtomically(path, {BytesOf(header), data});
}

}  // namespace bwmm::host
