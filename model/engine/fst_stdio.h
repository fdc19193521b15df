// Included in front of Verilator's FST code only: its stdio becomes ours.
#pragma once

#include "model/engine/fst_files.h"

#define fopen FstOpen
#define tmpfile FstTemporary
#define fwrite FstWrite
#define fputc FstPut
#define fflush FstFlush
#define fseeko FstSeek
#define fclose FstClose
#define mmap FstMap
