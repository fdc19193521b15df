#include "model/support/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "model/support/interrupt.h"
#include "model/support/part_file.h"
#include "model/support/printable.h"
#include "model/support/sim_error.h"

namespace bwmm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAtOnce = std::size_t{1} << 22;  // between two looks for a signal

[[noreturn]] void Refuse(const fs::path& path, int reason) {
  throw SimError("{}: cannot be written: {}", Printable(path.string()), std::strerror(reason));
}

bool IsSpecial(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// Standard output or error when the path names the file behind it, as /dev/stdout may: replacing
// that file would lose what else is written there. -1 for any other path.
int StreamOf(const fs::path& path) {
  struct stat named {
  }, behind{};
  if (::stat(path.c_str(), &named) != 0 || !S_ISREG(named.st_mode))
    return -1;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::fstat(stream, &behind) == 0 && behind.st_dev == named.st_dev &&
        behind.st_ino == named.st_ino)
      return stream;
  }
  return -1;
}

// 0, or why not all was written.
int WriteAll(int descriptor, std::initializer_list<std::span<const std::byte>> parts) {
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      ThrowIfInterrupted();
      const ssize_t written = ::write(descriptor, part.data(), std::min(part.size(), kAtOnce));
      if (written < 0 && errno != EINTR)
        return errno;
      if (written > 0)
        part = part.subspan(static_cast<std::size_t>(written));
    }
  }
  return 0;
}

void WriteInPlace(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts) {
  const int stream = StreamOf(path);
  const int descriptor =
      stream >= 0 ? ::dup(stream) : ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0)
    Refuse(path, errno);
  const int reason = WriteAll(descriptor, parts);
  if (::close(descriptor) != 0)
    Refuse(path, errno);
  if (reason != 0)
    Refuse(path, reason);
}

}  // namespace

void WriteFileAtomically(const fs::path& path,
                         std::initializer_list<std::span<const std::byte>> parts) {
  if (IsSpecial(path) || StreamOf(path) >= 0) {
    WriteInPlace(path, parts);
    return;
  }
  PartFile file(path);
  const int descriptor = file.Create();
  int reason = 0;
  try {
    reason = WriteAll(descriptor, parts);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (reason != 0) {
    ::close(descriptor);
    file.Refuse(reason);
  }
  file.Close(descriptor);
  file.Commit();
}

void CheckWritable(const fs::path& path) {
  if (IsSpecial(path) || StreamOf(path) >= 0) {
    if (::access(path.c_str(), W_OK) != 0)
      Refuse(path, errno);
    return;
  }
  CheckReplaceable(path);
}

void CheckReplaceable(const fs::path& path) {
  PartFile file(path);
  file.Close(file.Create());
}

void WriteStandardOutput(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw SimError("standard output: cannot be written: {}", std::strerror(errno));
}

}  // namespace bwmm
