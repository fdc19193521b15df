#include "model/support/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>

#include "model/support/printable.h"
#include "model/support/sim_error.h"

namespace bwmm {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as Linux

// The parts there are. Never destroyed: a signal may come while the process ends.
struct Parts {
  std::mutex mutex;
  std::set<fs::path> paths;
};

Parts& AllParts() {
  static Parts* const parts = new Parts;
  return *parts;
}

[[noreturn]] void RefusePath(const fs::path& path, std::string_view reason) {
  throw SimError("{}: cannot be written: {}", Printable(path.string()), reason);
}

fs::path PlaceOf(const fs::path& path) {
  const fs::path followed = FollowLinks(path);
  const fs::path folder = followed.has_parent_path() ? followed.parent_path() : fs::path(".");
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(folder, error);
  return (error ? folder : canonical) / followed.filename();
}

}  // namespace

fs::path FollowLinks(const fs::path& path) {
  fs::path at = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(at, error)); ++links) {
    const fs::path to = fs::read_symlink(at, error);
    if (error || links == kMostLinks)
      RefusePath(path, std::strerror(ELOOP));
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return at;
}

bool SameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const bool a_exists = fs::exists(a, error), b_exists = fs::exists(b, error);
  if (a_exists && b_exists)
    return fs::equivalent(a, b, error);
  return !a_exists && !b_exists && PlaceOf(a) == PlaceOf(b);
}

PartFile::PartFile(const fs::path& path, std::string_view what) : named_(path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status))
    RefusePath(path, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status))
    RefusePath(path, "it is no regular file, which this output needs");
  static std::atomic<unsigned> count = 0;
  target_ = FollowLinks(path);
  part_ = target_;
  part_ += fmt::format(".{}-{}{}.part", ::getpid(), count++, what);
  const std::scoped_lock lock(AllParts().mutex);
  AllParts().paths.insert(part_);
}

PartFile::~PartFile() {
  const std::scoped_lock lock(AllParts().mutex);
  ::unlink(part_.c_str());
  AllParts().paths.erase(part_);
}

int PartFile::Create() {
  const std::scoped_lock lock(AllParts().mutex);
  const int descriptor =
      ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0)
    Refuse(errno);
  struct stat target {};
  if (::stat(target_.c_str(), &target) == 0 && ::fchmod(descriptor, target.st_mode & 0777) != 0) {
    const int reason = errno;
    ::close(descriptor);
    Refuse(reason);
  }
  return descriptor;
}

void PartFile::Close(int descriptor) {
  const int synced = ::fsync(descriptor);
  const int reason = errno;
  if (::close(descriptor) != 0)
    Refuse(errno);
  // Some file systems have no fsync.
  if (synced != 0 && reason != EINVAL && reason != ENOSYS)
    Refuse(reason);
}

void PartFile::Commit() {
  const std::scoped_lock lock(AllParts().mutex);
  if (::rename(part_.c_str(), target_.c_str()) != 0)
    Refuse(errno);
}

void PartFile::Refuse(int reason) const {
  RefusePath(named_, std::strerror(reason));
}

void RemoveAllParts() {
  // Held for good: a part made from here on would stay.
  AllParts().mutex.lock();
  for (const fs::path& path : AllParts().paths)
    ::unlink(path.c_str());
}

}  // namespace bwmm
