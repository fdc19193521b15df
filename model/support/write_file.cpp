#include "model/support/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "model/support/sim_error.h"

namespace bwmm {
namespace {

namespace fs = std::filesystem;

struct Target {
  fs::path final;
  fs::path written;  // the same for what cannot be replaced
  bool replaces() const { return final != written; }
};

Target TargetOf(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status))
    throw SimError("{}: cannot be written: it is a folder", path.string());
  if (fs::exists(status) && !fs::is_regular_file(status))
    return {path, path};
  fs::path final =
      fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : path;
  fs::path written = final;
  written += fmt::format(".{}.part", ::getpid());
  return {std::move(final), std::move(written)};
}

[[noreturn]] void Refuse(const fs::path& path, int reason) {
  throw SimError("{}: cannot be written: {}", path.string(), std::strerror(reason));
}

}  // namespace

void WriteFileAtomically(const fs::path& path,
                         std::initializer_list<std::span<const std::byte>> parts) {
  const Target target = TargetOf(path);
  std::ofstream file(target.written, std::ios::binary | std::ios::trunc);
  if (!file)
    Refuse(path, errno);
  for (const auto part : parts) {
    file.write(reinterpret_cast<const char*>(part.data()),
               static_cast<std::streamsize>(part.size()));
  }
  file.close();
  const int reason = errno;
  if (!target.replaces()) {
    if (!file)
      Refuse(path, reason);
    return;
  }
  std::error_code error;
  if (!file) {
    fs::remove(target.written, error);
    Refuse(path, reason);
  }
  fs::rename(target.written, target.final, error);
  if (error) {
    std::error_code ignored;
    fs::remove(target.written, ignored);
    Refuse(path, error.value());
  }
}

void CheckWritable(const fs::path& path) {
  const Target target = TargetOf(path);
  if (!target.replaces())
    return;
  if (!std::ofstream(target.written, std::ios::binary | std::ios::trunc))
    Refuse(path, errno);
  std::error_code ignored;
  fs::remove(target.written, ignored);
}

}  // namespace bwmm
