#include "model/system/listing.h"

#include "model/isa/text.h"
#include "model/support/write_file.h"

namespace bwmm {

void Listing::Emitted(const ops::Emission& emission) {
  const isa::Instruction& instruction = emission.instruction;
  if (std::ssize(lines_) <= instruction.core)
    lines_.resize(instruction.core + 1);
  lines_[instruction.core] += isa::ToText(instruction) + "\n";
}

void Listing::WriteTo(const std::string& path) const {
  std::string all;
  for (const std::string& lines : lines_)
    all += lines;
  WriteFileAtomically(path, {BytesOf(all)});
}

}  // namespace bwmm
