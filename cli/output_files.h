// Which files a command reads and writes, refused before the run when one would overwrite another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/option.h"

namespace bwmm::cli {

using workloads::NamedFile;

// Reads files. Whatever reads one knows its path alone: an error that begins with it gets the name
// in front.
void NameErrors(const std::vector<NamedFile>& files, const std::function<void()>& read);

// The file of an option or setting that names a tensor (host::TensorSpec).
NamedFile TensorFile(std::string name, const std::string& spec);

// SimError when an output is one of the inputs or another output, whatever the spelling; two
// outputs may go to one device.
void CheckDistinct(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

}  // namespace bwmm::cli
