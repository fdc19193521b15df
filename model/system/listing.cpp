#include "model/system/listing.h"

#include "model/isa/text.h"
#include "model/support/write_file.h"

namespace bwmm {

void Listing::Add(const isa::Instruction& instruction) {
  lines_.at(instruction.core) += isa::ToText(instruction) + "\n";
}

void Listing::WriteTo(const std::string& path) const {
  WriteFileAtomically(path, {BytesOf(lines_[0]), BytesOf(lines_[1])});
}

}  // namespace bwmm
