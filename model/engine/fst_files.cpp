#include "model/engine/fst_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

namespace {

std::atomic<int> first_error = 0;

void Remember(int error) {
  int none = 0;
  first_error.compare_exchange_strong(none, error != 0 ? error : EIO);
}

}  // namespace

FILE* FstOpen(const char* path, const char* mode) {
  const bool writes = mode[0] == 'w';
  if (writes && !std::string_view(path).ends_with(".part"))
    return FstTemporary();
  FILE* const file = std::fopen(path, mode);
  // The reader looks for files that need not be there.
  if (file == nullptr && writes)
    Remember(errno);
  return file;
}

FILE* FstTemporary() {
  const int memory = ::memfd_create("fst", MFD_CLOEXEC);
  FILE* const file = memory < 0 ? nullptr : ::fdopen(memory, "w+b");
  if (file == nullptr) {
    Remember(errno);
    if (memory >= 0)
      ::close(memory);
  }
  return file;
}

std::size_t FstWrite(const void* data, std::size_t size, std::size_t count, FILE* file) {
  const std::size_t written = std::fwrite(data, size, count, file);
  if (written != count && size != 0)
    Remember(errno);
  return written;
}

int FstPut(int c, FILE* file) {
  const int put = std::fputc(c, file);
  if (put == EOF)
    Remember(errno);
  return put;
}

int FstFlush(FILE* file) {
  const int result = std::fflush(file);
  if (result != 0)
    Remember(errno);
  return result;
}

// A seek writes what is buffered.
int FstSeek(FILE* file, off_t offset, int whence) {
  const int result = ::fseeko(file, offset, whence);
  if (result != 0)
    Remember(errno);
  return result;
}

int FstClose(FILE* file) {
  const bool failed = std::ferror(file) != 0;
  const int result = std::fclose(file);
  if (result != 0)
    Remember(errno);
  else if (failed)
    Remember(EIO);  // of a call that is none of these; errno is some other call's by now
  return result;
}

// A side file that could not grow is shorter than what is mapped; memory stands in for it.
void* FstMap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || static_cast<std::size_t>(status.st_size) < bytes) {
    Remember(ENOSPC);
    return ::mmap(address, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return ::mmap(address, bytes, protection, flags, file, offset);
}

namespace bwmm::engine {

int TakeFstError() {
  return first_error.exchange(0);
}

}  // namespace bwmm::engine
