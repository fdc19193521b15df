// Which files a command reads and writes, refused before the run when one would overwrite another.
#pragma once

#include <string>
#include <vector>

#include "workloads/option.h"

namespace bwmm::cli {

using workloads::NamedFile;

// The file of an option or setting that names a tensor (host::TensorSpec).
NamedFile TensorFile(std::string name, const std::string& spec);

// SimError when an output is one of the inputs or another output, whatever the spelling; two
// outputs may go to one device.
void CheckDistinct(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

}  // namespace bwmm::cli
