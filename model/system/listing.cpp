#include "model/system/listing.h"

#include <cstdio>
#include <fstream>

#include "model/isa/text.h"
#include "model/support/sim_error.h"

namespace bwmm {

void Listing::Add(const isa::Instruction& instruction) {
  lines_.at(instruction.core) += isa::ToText(instruction) + "\n";
}

void Listing::WriteTo(const std::string& path) const {
  const std::string partial = path + ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  for (const std::string& text : lines_)
    file << text;
  file.close();
  if (!file || std::rename(partial.c_str(), path.c_str()) != 0) {
    std::remove(partial.c_str());
    throw SimError("listing: {}, cannot be written", path);
  }
}

}  // namespace bwmm
