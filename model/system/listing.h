// The program as it was emitted: one line per instruction, core by core.
#pragma once

#include <array>
#include <string>

#include "model/isa/instruction.h"

namespace bwmm {

class Listing {
 public:
  void Add(const isa::Instruction& instruction);
  // Writes the file whole or not at all: into a neighbour first, then renamed. SimError when the
  // file cannot be written.
  void WriteTo(const std::string& path) const;

 private:
  std::array<std::string, 2> lines_;  // per core
};

}  // namespace bwmm
