// Whole files out: a written file is complete or absent, also when several programs write it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>

namespace bwmm {

inline std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Writes the parts one after the other to a temporary file beside `path`, then renames it. A link
// is followed; a device or a pipe, and the file behind standard output, are written as they are.
// SimError naming the path and the reason.
void WriteFileAtomically(const std::filesystem::path& path,
                         std::initializer_list<std::span<const std::byte>> parts);

// SimError where WriteFileAtomically would refuse, found before there is anything to write.
void CheckWritable(const std::filesystem::path& path);

// The same for a file that only a regular file can be, such as a dump.
void CheckReplaceable(const std::filesystem::path& path);

// The report: SimError when standard output does not take it.
void WriteStandardOutput(std::string_view text);

}  // namespace bwmm
