// The memories instructions act on: HBM shared by all cores, SBUF per core, PSUM behind a port.
//
// Bytes live here; time does not. A tensor without data (timing fidelity) has an address and a
// size, and At() answers nullptr for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/isa/operand.h"
#include "model/support/zeroed_array.h"

namespace bwmm::ops {

struct HbmTensor {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<std::int64_t> shape;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::vector<std::byte> data;  // empty: no data in this run
  std::vector<bool> written;    // per 4-byte word, for the memory checker; empty: all written
  bool read_only = false;       // an input: a program that writes it is refused
  // From this byte on the tensor is a place for padding rows: what it holds means nothing, and the
  // cores may write it together.
  std::uint64_t padding_from = std::numeric_limits<std::uint64_t>::max();
};

class Hbm {
 public:
  explicit Hbm(std::uint64_t capacity_bytes = 36ull << 30) : capacity_(capacity_bytes) {}

  // Addresses are 64-byte aligned and tensors never overlap. SimError when the stack is full.
  HbmTensor& Allocate(std::string name, DType dtype, std::vector<std::int64_t> shape,
                      bool with_data);
  // The same at an address of the caller's choice; SimError when it is not free or not aligned.
  HbmTensor& AllocateAt(std::uint64_t address, std::string name, DType dtype,
                        std::vector<std::int64_t> shape, bool with_data);

  // The tensor that holds all of [address, address + bytes); SimError naming the access otherwise.
  HbmTensor& Find(std::uint64_t address, std::uint64_t bytes);
  HbmTensor& Find(std::string_view name);
  std::byte* At(std::uint64_t address, std::uint64_t bytes);

  const std::map<std::uint64_t, std::unique_ptr<HbmTensor>>& tensors() const { return tensors_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t next_ = 64;
  std::map<std::uint64_t, std::unique_ptr<HbmTensor>> tensors_;  // by address
};

class Sbuf {
 public:
  Sbuf(int partitions, std::int64_t bytes)
      : partitions_(partitions), bytes_(bytes), data_(partitions * bytes) {}

  int partitions() const { return partitions_; }
  std::int64_t bytes() const { return bytes_; }  // per partition
  // SimError when [offset, offset + bytes) leaves the partition.
  std::byte* At(int partition, std::uint64_t offset, std::uint64_t bytes) {
    return data_.data() + IndexOf(partition, offset, bytes);
  }
  const std::byte* At(int partition, std::uint64_t offset, std::uint64_t bytes) const {
    return data_.data() + IndexOf(partition, offset, bytes);
  }

 private:
  std::size_t IndexOf(int partition, std::uint64_t offset, std::uint64_t bytes) const;

  int partitions_;
  std::int64_t bytes_;
  ZeroedArray<std::byte> data_;
};

// PSUM as rows: word w of every partition, 4 bytes each. The TensorEngine owns the storage.
class PsumPort {
 public:
  virtual ~PsumPort() = default;
  virtual void Read(int word, std::span<std::uint32_t> lanes) const = 0;
  virtual void Write(int word, std::span<const std::uint32_t> lanes) = 0;
};

}  // namespace bwmm::ops
