// The files of the FST writer, which itself looks at no error: Verilator's FST code is compiled
// with its stdio calls replaced by these (rtl/CMakeLists.txt).
//
//   x.part ............ the dump: an ordinary file; the first error is remembered
//   everything else ... hierarchy, times, values: in memory, so that a full disk cannot take the
//                       ground from under a mapped file (SIGBUS), and nothing is left behind
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

FILE* FstOpen(const char* path, const char* mode);
FILE* FstTemporary();
std::size_t FstWrite(const void* data, std::size_t size, std::size_t count, FILE* file);
int FstPut(int c, FILE* file);
int FstFlush(FILE* file);
int FstSeek(FILE* file, off_t offset, int whence);
int FstClose(FILE* file);
void* FstMap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset);

namespace bwmm::engine {

// errno of the first failure since the last call; 0: none.
int TakeFstError();

}  // namespace bwmm::engine
