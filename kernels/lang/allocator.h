// Allocates byte ranges of one on-chip memory; the range is the same in all partitions.
//
// First fit, lowest address. Running out is a SimError that lists the live buffers, what is free
// and what was asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/support/sim_error.h"

namespace bwmm::lang {

// A buffer that does not fit its memory.
class DoesNotFit : public SimError {
 public:
  using SimError::SimError;
};

class Allocator {
 public:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t serial = 0;  // of all ranges handed out, from 0
  };

  // A range never crosses a multiple of `bank_bytes` unless it is larger than a bank.
  Allocator(std::string memory, std::int64_t bytes, std::int64_t bank_bytes)
      : memory_(std::move(memory)), bytes_(bytes), bank_bytes_(bank_bytes) {}

  Range Allocate(const std::string& name, std::int64_t bytes);
  void Free(std::uint64_t offset);
  bool IsLive(std::uint64_t serial) const { return is_live_[serial]; }

  std::int64_t free_bytes() const { return bytes_ - used_; }

 private:
  struct Buffer {
    std::string name;
    std::int64_t bytes = 0;
    std::uint64_t serial = 0;
  };

  // Start of a range of `bytes` at or after `from`, bank rule included.
  std::int64_t Align(std::int64_t from, std::int64_t bytes) const;
  std::string LiveTable() const;

  std::string memory_;
  std::int64_t bytes_;
  std::int64_t bank_bytes_;
  std::int64_t used_ = 0;
  std::map<std::uint64_t, Buffer> live_;  // by offset
  std::vector<bool> is_live_;             // by serial
};

}  // namespace bwmm::lang
