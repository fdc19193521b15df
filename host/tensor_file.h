// Tensors on disk: .npy (one tensor) and .safetensors (several, by name).
//
// Both formats are little endian here, C order. A type the format has no word for travels in an
// unsigned integer as wide as it is: bf16 and fp4 x4 in uint16 (.npy), fp8 x4 in uint32, fp8 and
// e8m0 in uint8. A .safetensors file of ours names the type in its metadata; else the reader says
// what such a word carries, in the name of the tensor or by what it needs, so that it is never
// misread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/host_tensor.h"

namespace bwmm::host {

// A tensor as a command line or a configuration names it: PATH, PATH:TYPE, or, of a .safetensors
// file with several tensors, PATH#TENSOR and PATH#TENSOR:TYPE. TYPE is one of ours (bfloat16,
// float8_e4m3fn_x4, ..).
struct TensorSpec {
  std::filesystem::path path;
  std::string tensor = {};
  std::optional<DType> dtype = std::nullopt;
};

// SimError where the text after a file's extension is no type.
TensorSpec ParseTensorSpec(const std::string& text);

// `carried` are the types the reader can use where the file has only a carrier, the likeliest
// first.
HostTensor LoadTensor(const TensorSpec& spec, std::vector<DType> carried);

// Reads the tensor called `name` of `path`; a file with one tensor needs no name. Without `as` the
// file's own type counts; float64 becomes fp32 (round to nearest even) and int64 becomes int32
// (a value that does not fit is an error). Every defect of the file is a SimError.
HostTensor LoadTensor(const std::filesystem::path& path, std::string_view name = "",
                      std::optional<DType> as = std::nullopt);

// All tensors of a .safetensors file, in the order of their bytes, each in its own type.
std::vector<HostTensor> LoadTensors(const std::filesystem::path& path);

// SimError unless the name's extension is one of a tensor file.
void CheckTensorFileName(const std::filesystem::path& path);

// Writes one tensor; the extension picks the format. The file appears complete or not at all.
void SaveTensor(const std::filesystem::path& path, const HostTensor& tensor);

// Writes several tensors into one .safetensors file.
void SaveTensors(const std::filesystem::path& path, const std::vector<HostTensor>& tensors);

}  // namespace bwmm::host
