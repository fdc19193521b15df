// Operand: an access pattern over HBM, SBUF or PSUM, in the hardware's terms.
//
//   SBUF, PSUM   partitions [partition, partition + partitions), the same byte offset and the same
//                free-dimension pattern in each of them
//   HBM          `partitions` rows, `partition_stride` elements apart, from byte address `offset`
//
// The free dimensions are listed outermost first. Strides are in elements; stride 0 broadcasts.
// Sources: NKI access patterns, at most 4 free dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "model/numerics/dtype.h"

namespace bwmm::isa {

enum class Memory : std::uint8_t { kHbm, kSbuf, kPsum };

struct Dim {
  std::int64_t size = 1;
  std::int64_t stride = 1;  // elements

  friend bool operator==(const Dim&, const Dim&) = default;
};

struct Operand {
  static constexpr int kMaxRank = 4;

  Memory memory = Memory::kSbuf;
  DType dtype = DType::kBf16;
  int partition = 0;
  std::int64_t partitions = 1;
  std::int64_t partition_stride = 0;  // HBM only
  std::uint64_t offset = 0;           // bytes
  int rank = 0;                       // free dimensions in use
  std::array<Dim, kMaxRank> dims{};

  // Elements per partition.
  std::int64_t free_size() const {
    std::int64_t size = 1;
    for (int i = 0; i < rank; ++i)
      size *= dims[i].size;
    return size;
  }
  std::int64_t elements() const { return partitions * free_size(); }
  std::int64_t bytes() const { return elements() * SizeOf(dtype); }
  // Bytes from the first to one past the last element of one partition.
  std::int64_t span_bytes() const {
    std::int64_t last = 0;
    for (int i = 0; i < rank; ++i)
      last += (dims[i].size - 1) * dims[i].stride;
    return (last + 1) * SizeOf(dtype);
  }
  // Elements of the longest run of consecutive bytes: what one DMA descriptor can move.
  std::int64_t contiguous_run() const {
    std::int64_t run = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (dims[i].size == 1)
        continue;
      if (dims[i].stride != run)
        break;
      run *= dims[i].size;
    }
    return run;
  }
};

// "sbuf[0:128]+0x400 bfloat16[128,2,512]", with strides shown where they are not dense.
std::string ToText(const Operand& operand);

}  // namespace bwmm::isa
