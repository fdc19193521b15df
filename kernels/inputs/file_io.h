// Whole files in, whole files out: a written file is complete or absent.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace bwmm::inputs {

std::vector<std::byte> ReadFile(const std::filesystem::path& path);

// Writes the parts one after the other to a temporary file beside `path`, then renames it.
void WriteFileAtomically(const std::filesystem::path& path,
                         std::initializer_list<std::span<const std::byte>> parts);

inline std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace bwmm::inputs
