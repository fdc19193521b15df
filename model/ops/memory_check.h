// Watches every access of one core: a read of SBUF or PSUM bytes never written, or of an output
// tensor's bytes never written, is an error naming the operand, the instruction and the place.
//
// Attached in front of execution by the executor and by the machine; it never changes a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/isa/instruction.h"
#include "model/isa/sink.h"
#include "model/ops/execute.h"

namespace bwmm::ops {

class MemoryChecker {
 public:
  MemoryChecker(const isa::Limits& limits, CoreMemory& memory);

  // Call before the instruction executes. `when` ends the message, e.g. "at cycle 4211".
  void Observe(const isa::Instruction& instruction, const std::string& when);

 private:
  struct Visitor;

  void Read(const isa::Operand& operand, std::string_view name);
  void Write(const isa::Operand& operand);
  void Scale(const isa::Operand& operand, bool write);
  template <typename F>
  void ForEachRun(const isa::Operand& operand, F f) const;
  template <typename F>
  void ForEachHbmRun(const isa::Operand& operand, F f) const;

  isa::Limits limits_;
  CoreMemory& memory_;
  std::vector<std::uint8_t> sbuf_written_;  // [partitions][bytes], 1 = written
  std::vector<std::uint8_t> psum_written_;
};

}  // namespace bwmm::ops
