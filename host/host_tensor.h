// A tensor in the host's memory, row-major (C order), as files carry it and as HBM is filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/numerics/dtype.h"
#include "model/support/check.h"

namespace bwmm::host {

struct HostTensor {
  std::string name = {};
  DType dtype = DType::kFp32;
  std::vector<std::int64_t> shape = {};
  std::vector<std::byte> data = {};  // empty: only the shape is known, which is all `timing` needs

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
      count *= extent;
    return count;
  }
  std::int64_t bytes() const { return elements() * SizeOf(dtype); }
  bool has_data() const { return std::ssize(data) == bytes(); }

  // A tensor with all bytes zero, or without bytes.
  static HostTensor Zeros(std::string name, DType dtype, std::vector<std::int64_t> shape,
                          bool with_data = true) {
    HostTensor tensor{.name = std::move(name), .dtype = dtype, .shape = std::move(shape)};
    if (with_data)
      tensor.data.resize(static_cast<std::size_t>(tensor.bytes()));
    return tensor;
  }

  // The words of the tensor: T is any plain type as wide as the dtype.
  template <typename T>
  std::span<T> words() {
    Check(sizeof(T) == static_cast<std::size_t>(SizeOf(dtype)), "word is as wide as the dtype");
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> words() const {
    Check(sizeof(T) == static_cast<std::size_t>(SizeOf(dtype)), "word is as wide as the dtype");
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

}  // namespace bwmm::host
