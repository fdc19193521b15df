// The .safetensors container.
//
//   8 bytes: header length, little endian
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {..}}
//   the tensors' bytes, back to back: offsets cover the rest of the file without hole or overlap
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/file_dtype.h"

namespace bwmm::host {

// All tensors in the order of their bytes. The whole header is validated first.
std::vector<RawTensor> ParseSafetensors(std::span<const std::byte> file, const std::string& place);

std::string SafetensorsHeader(const std::vector<HostTensor>& tensors);

}  // namespace bwmm::host
