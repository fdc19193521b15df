#include "workloads/tensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "host/random.h"
#include "host/tensor_file.h"
#include "model/numerics/convert.h"
#include "model/support/sim_error.h"
#include "workloads/checksum.h"

namespace bwmm::workloads {
namespace {

// Whether an element is one number, which a float rounds to. Packed words, scales and carriers are
// not.
bool HoldsNumbers(DType dtype) {
  constexpr std::array kNumbers = {DType::kFp32,      DType::kBf16,    DType::kFp16,
                                   DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2,
                                   DType::kInt32,     DType::kUint8};
  return std::ranges::find(kNumbers, dtype) != kNumbers.end();
}

// Float files convert through fp32; x4 words and scales must match.
host::HostTensor Converted(host::HostTensor tensor, DType dtype, const std::string& path) {
  if (tensor.dtype == dtype)
    return tensor;
  constexpr std::array kFloats = {DType::kFp32,      DType::kBf16,    DType::kFp16,
                                  DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2};
  const bool from_float = std::ranges::find(kFloats, tensor.dtype) != kFloats.end();
  if (!from_float || !HoldsNumbers(dtype))
    throw SimError("{}: dtype {}, allowed {}{}", path, NameOf(tensor.dtype), NameOf(dtype),
                   HoldsNumbers(dtype) ? " or a float type to convert" : "");
  const int count = static_cast<int>(tensor.elements());
  std::vector<float> values(count);
  Widen(tensor.dtype, tensor.data.data(), SizeOf(tensor.dtype), count, values.data());
  auto result = host::HostTensor::Zeros(tensor.name, dtype, tensor.shape);
  RoundTo(dtype, values.data(), count, result.data.data(), SizeOf(dtype));
  return result;
}

// A tensor's elements are counted in an int.
void CheckElements(const std::string& name, const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw SimError("{}: shape {}, allowed sizes from 0", name, lang::ShapeText(shape));
    if (extent > 0 && count > kMost / extent)
      throw SimError("{}: shape {}, allowed up to {} elements", name, lang::ShapeText(shape),
                     kMost);
    count *= extent;
  }
}

}  // namespace

host::HostTensor Fitted(host::HostTensor tensor, DType dtype,
                        const std::vector<std::int64_t>& shape, const std::string& path) {
  if (tensor.shape != shape)
    throw SimError("{}: shape {}, allowed {}", path, lang::ShapeText(tensor.shape),
                   lang::ShapeText(shape));
  return Converted(std::move(tensor), dtype, path);
}

void CheckUsed(const std::string& path, const Setup& setup) {
  if (!setup.with_data)
    throw SimError("{}: timing has no tensor data, allowed with rtl, fast", path);
}

host::HostTensor TensorFrom(const std::string& name, const std::string& path, DType dtype,
                            std::vector<std::int64_t> shape, const Setup& setup) {
  CheckElements(name, shape);
  if (!path.empty()) {
    CheckUsed(path, setup);
    host::HostTensor tensor = Fitted(
        host::LoadTensor(host::ParseTensorSpec(path), {dtype, DType::kBf16}), dtype, shape, path);
    tensor.name = name;
    return tensor;
  }
  if (!HoldsNumbers(dtype))
    throw SimError(
        "tensor {}: {} is not drawn from the seed, allowed a file, or the type of one "
        "number",
        name, NameOf(dtype));
  if (!setup.with_data)
    return {.name = name, .dtype = dtype, .shape = std::move(shape), .data = {}};
  auto tensor = host::HostTensor::Zeros(name, dtype, std::move(shape));
  const int count = static_cast<int>(tensor.elements());
  std::vector<float> values(count);
  // Every name has values of its own.
  host::Random random(setup.seed.Draw(), Fnv1a(std::as_bytes(std::span(name))));
  for (float& value : values)
    value = static_cast<float>(random.Normal());
  RoundTo(dtype, values.data(), count, tensor.data.data(), SizeOf(dtype));
  return tensor;
}

// An output is found by its name.
void Tensors::CheckNew(const std::string& name) {
  if (!names_.insert(name).second)
    throw SimError("tensor {}: there is one of this name, allowed once", name);
}

void Tensors::CheckBytes(const host::HostTensor& tensor) {
  CheckElements(tensor.name, tensor.shape);
  const std::uint64_t bytes = tensor.elements() * SizeOf(tensor.dtype);
  if (tensor.data.size() != bytes)
    throw SimError("tensor {}: {} bytes of data, allowed {}: its shape is {}", tensor.name,
                   tensor.data.size(), bytes, lang::ShapeText(tensor.shape));
}

lang::HbmTensor Tensors::Input(host::HostTensor tensor) {
  CheckNew(tensor.name);
  if (with_data_)
    CheckBytes(tensor);
  ops::HbmTensor& placed = hbm_.Allocate(tensor.name, tensor.dtype, tensor.shape, false);
  placed.read_only = true;
  if (with_data_)
    placed.data = std::move(tensor.data);
  return {tensor.name, tensor.dtype, tensor.shape, placed.address};
}

lang::HbmTensor Tensors::Control(host::HostTensor tensor) {
  if (tensor.dtype != DType::kInt32)
    throw SimError("tensor {}: {} for control, allowed int32", tensor.name, NameOf(tensor.dtype));
  CheckNew(tensor.name);
  CheckBytes(tensor);
  ops::HbmTensor& placed = hbm_.Allocate(tensor.name, tensor.dtype, tensor.shape, false);
  placed.read_only = true;
  placed.data = std::move(tensor.data);
  return {tensor.name, tensor.dtype, tensor.shape, placed.address};
}

lang::HbmTensor Tensors::Output(const std::string& name, DType dtype,
                                std::vector<std::int64_t> shape) {
  CheckNew(name);
  CheckElements(name, shape);
  ops::HbmTensor& placed = hbm_.Allocate(name, dtype, shape, with_data_);
  if (with_data_)
    placed.written.assign((placed.bytes + 3) / 4, false);
  return {name, dtype, std::move(shape), placed.address};
}

host::HostTensor Tensors::Fetch(const std::string& name) {
  const ops::HbmTensor& tensor = hbm_.Find(name);
  return {.name = name, .dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.data};
}

}  // namespace bwmm::workloads
