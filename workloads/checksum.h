// The checksum of a result: FNV-1a, 64 bits, over the tensor's bytes in row-major order.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bwmm::workloads {

inline std::string Checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::byte byte : bytes)
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
  return fmt::format("{:016x}", hash);
}

}  // namespace bwmm::workloads
