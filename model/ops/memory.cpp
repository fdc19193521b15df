#include "model/ops/memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/support/sim_error.h"

namespace bwmm::ops {

HbmTensor& Hbm::Allocate(std::string name, DType dtype, std::vector<std::int64_t> shape,
                         bool with_data) {
  std::uint64_t bytes = SizeOf(dtype);
  for (const std::int64_t size : shape)
    bytes *= static_cast<std::uint64_t>(size);
  if (next_ + bytes > capacity_) {
    throw SimError("hbm: tensor {} of {} bytes does not fit, {} of {} bytes are free", name, bytes,
                   capacity_ - std::min(next_, capacity_), capacity_);
  }
  auto tensor = std::make_unique<HbmTensor>();
  tensor->name = std::move(name);
  tensor->dtype = dtype;
  tensor->shape = std::move(shape);
  tensor->address = next_;
  tensor->bytes = bytes;
  if (with_data)
    tensor->data.resize(bytes);
  // At least one line apart, so that empty tensors have addresses of their own.
  next_ += (std::max<std::uint64_t>(bytes, 1) + 63) / 64 * 64;
  return *tensors_.emplace(tensor->address, std::move(tensor)).first->second;
}

HbmTensor& Hbm::Find(std::uint64_t address, std::uint64_t bytes) {
  auto next = tensors_.upper_bound(address);
  if (next == tensors_.begin())
    throw SimError("hbm: address {:#x} is below the first tensor", address);
  HbmTensor& tensor = *std::prev(next)->second;
  if (address + bytes > tensor.address + tensor.bytes) {
    throw SimError("hbm: access of {} bytes at {:#x} runs past tensor {}, which ends at {:#x}",
                   bytes, address, tensor.name, tensor.address + tensor.bytes);
  }
  return tensor;
}

HbmTensor& Hbm::Find(std::string_view name) {
  for (auto& [address, tensor] : tensors_) {
    if (tensor->name == name)
      return *tensor;
  }
  throw SimError("hbm: no tensor is called {}", name);
}

std::byte* Hbm::At(std::uint64_t address, std::uint64_t bytes) {
  HbmTensor& tensor = Find(address, bytes);
  return tensor.data.empty() ? nullptr : tensor.data.data() + (address - tensor.address);
}

std::byte* Sbuf::At(int partition, std::uint64_t offset, std::uint64_t bytes) {
  if (partition < 0 || partition >= partitions_ ||
      offset + bytes > static_cast<std::uint64_t>(bytes_)) {
    throw SimError("sbuf: access of {} bytes at partition {}, byte {} is outside {} x {} bytes",
                   bytes, partition, offset, partitions_, bytes_);
  }
  return data_.data() + partition * bytes_ + offset;
}

}  // namespace bwmm::ops
