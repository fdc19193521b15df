// FNV-1a, 64 bits, and the checksum of a result: it over the tensor's bytes in row-major order.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bwmm::workloads {

inline std::uint64_t Fnv1a(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::byte byte : bytes)
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
  return hash;
}

inline std::string Checksum(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", Fnv1a(bytes));
}

}  // namespace bwmm::workloads
