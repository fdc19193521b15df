// Watches every access of one core: a read of SBUF or PSUM bytes never written (since their tile
// was allocated), an accumulation into such PSUM, or a read of an output tensor's bytes never
// written, is an error naming the operand, the instruction and the place. So are two live tiles
// that overlap.
//
// Attached in front of execution by the executor and by the machine; it never changes a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/isa/instruction.h"
#include "model/isa/operand_use.h"
#include "model/isa/sink.h"
#include "model/ops/execute.h"
#include "model/ops/lifetimes.h"
#include "model/support/zeroed_array.h"

namespace bwmm::ops {

class MemoryChecker {
 public:
  MemoryChecker(const isa::Limits& limits, CoreMemory& memory);

  // Tiles of the kernel language. Bytes that are freed and allocated again count as never written;
  // bytes no tile was announced for keep what is written to them. `position` is the number of
  // instructions emitted before.
  void Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                 const std::string& name);
  void Freed(isa::Memory memory, std::uint64_t begin, std::uint32_t position);

  // Call before the instruction executes. `when` ends the message, e.g. "at cycle 4211".
  void Observe(const isa::Instruction& instruction, const std::string& when);

 private:
  // The rows of a dynamic source that are not skipped.
  struct RowsTaken {
    const isa::Operand* source = nullptr;
    std::vector<std::int64_t> rows;
  };

  void Check(const isa::Body& body);
  void ReadUse(const isa::OperandUse& use, RowsTaken& taken);
  void WriteUse(const isa::OperandUse& use, const RowsTaken& taken);
  void Read(const isa::Operand& operand, std::string_view name);
  void Write(const isa::Operand& operand);
  template <typename F>
  void ForEachStretch(const isa::Operand& operand, F f) const;
  template <typename F>
  void ForEachTrackedRun(const isa::Operand& operand, F f) const;
  Lifetimes& LifetimesOf(isa::Memory memory);

  CoreMemory& memory_;
  const std::int64_t sbuf_bytes_, psum_bytes_;  // per partition
  // [partitions][bytes]: 0 = never written, else 1 + the generation of the byte it was written in.
  ZeroedArray<std::uint8_t> sbuf_written_, psum_written_;
  Lifetimes sbuf_lifetimes_, psum_lifetimes_;
  std::uint32_t position_ = 0;  // of the instruction being observed
  struct Stretch {
    std::int64_t begin, bytes;
    std::uint8_t generation;
  };
  mutable std::vector<Stretch> stretches_;  // of one partition of an operand
};

}  // namespace bwmm::ops
