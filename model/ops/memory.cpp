#include "model/ops/memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/support/sim_error.h"

namespace bwmm::ops {
namespace {

constexpr std::uint64_t kLine = 64;

std::uint64_t LinesOf(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

}  // namespace

HbmTensor& Hbm::Allocate(std::string name, DType dtype, std::vector<std::int64_t> shape,
                         bool with_data) {
  return AllocateAt(next_, std::move(name), dtype, std::move(shape), with_data);
}

HbmTensor& Hbm::AllocateAt(std::uint64_t address, std::string name, DType dtype,
                           std::vector<std::int64_t> shape, bool with_data) {
  std::uint64_t bytes = SizeOf(dtype);
  for (const std::int64_t size : shape)
    bytes *= static_cast<std::uint64_t>(size);
  if (address > capacity_ || bytes > capacity_ - address) {
    throw SimError("hbm: tensor {} of {} bytes does not fit, {} of {} bytes are free", name, bytes,
                   capacity_ - std::min(address, capacity_), capacity_);
  }
  // At least one line apart, so that empty tensors have addresses of their own.
  const std::uint64_t end = address + LinesOf(bytes);
  const auto after = tensors_.upper_bound(address);
  const HbmTensor* before = after == tensors_.begin() ? nullptr : std::prev(after)->second.get();
  if (address == 0 || address % kLine != 0)
    throw SimError("hbm: tensor {} at {:#x}, allowed are multiples of {:#x} above 0", name, address,
                   kLine);
  if (before != nullptr && before->address + LinesOf(before->bytes) > address)
    throw SimError("hbm: tensor {} at {:#x} overlaps tensor {}", name, address, before->name);
  if (after != tensors_.end() && after->first < end)
    throw SimError("hbm: tensor {} at {:#x} overlaps tensor {}", name, address,
                   after->second->name);
  auto tensor = std::make_unique<HbmTensor>();
  tensor->name = std::move(name);
  tensor->dtype = dtype;
  tensor->shape = std::move(shape);
  tensor->address = address;
  tensor->bytes = bytes;
  if (with_data)
    tensor->data.resize(bytes);
  next_ = std::max(next_, end);
  return *tensors_.emplace(address, std::move(tensor)).first->second;
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

std::size_t Sbuf::IndexOf(int partition, std::uint64_t offset, std::uint64_t bytes) const {
  if (partition < 0 || partition >= partitions_ ||
      offset + bytes > static_cast<std::uint64_t>(bytes_)) {
    throw SimError("sbuf: access of {} bytes at partition {}, byte {} is outside {} x {} bytes",
                   bytes, partition, offset, partitions_, bytes_);
  }
  return partition * bytes_ + offset;
}

}  // namespace bwmm::ops
