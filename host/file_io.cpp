#include "host/file_io.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "model/support/sim_error.h"

namespace bwmm::host {

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

}  // namespace bwmm::host
