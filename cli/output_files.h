// Which files a command reads and writes, refused before the run when one would overwrite another.
#pragma once

#include <string>
#include <vector>

namespace bwmm::cli {

// An option or setting and its file; empty when not given.
struct NamedFile {
  std::string name, path;
};

// SimError when an output is one of the inputs or another output, whatever the spelling; two
// outputs may go to one device.
void CheckDistinct(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

}  // namespace bwmm::cli
