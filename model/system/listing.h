// The program as it was emitted: one line per instruction, core by core.
#pragma once

#include <string>
#include <vector>

#include "model/isa/instruction.h"

namespace bwmm {

class Listing {
 public:
  void Add(const isa::Instruction& instruction);
  // Writes the file whole or not at all: into a neighbour first, then renamed. SimError when the
  // file cannot be written.
  void WriteTo(const std::string& path) const;

 private:
  std::vector<std::string> lines_;  // per core
};

}  // namespace bwmm
