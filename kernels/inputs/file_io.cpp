#include "kernels/inputs/file_io.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "model/support/sim_error.h"

namespace bwmm::inputs {

std::vector<std::byte> ReadFile(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::is_regular_file(status))
    throw SimError("{}: cannot be read, a regular file is expected", path.string());
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file)
    throw SimError("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size))
    throw SimError("{}: read {} of {} bytes", path.string(), file.gcount(), size);
  return bytes;
}

void WriteFileAtomically(const std::filesystem::path& path,
                         std::initializer_list<std::span<const std::byte>> parts) {
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.part", ::getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  if (!file)
    throw SimError("{}: cannot be written: {}", path.string(), std::strerror(errno));
  for (const auto part : parts) {
    file.write(reinterpret_cast<const char*>(part.data()),
               static_cast<std::streamsize>(part.size()));
  }
  file.close();
  std::error_code error;
  if (!file) {
    std::filesystem::remove(temporary, error);
    throw SimError("{}: writing failed, nothing is left behind", path.string());
  }
  std::filesystem::rename(temporary, path, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(temporary, error);
    throw SimError("{}: cannot be replaced: {}", path.string(), reason);
  }
}

}  // namespace bwmm::inputs
