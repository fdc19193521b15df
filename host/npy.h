// NumPy's .npy, format versions 1, 2 and 3.
//
//   \x93NUMPY  major minor  header length (2 bytes in v1, 4 in v2 and v3)
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  padded to 64 bytes
//   the elements, C order
#pragma once

#include <span>
#include <string>

#include "host/file_dtype.h"

namespace bwmm::host {

RawTensor ParseNpy(std::span<const std::byte> file, const std::string& place);

// The header of a tensor, version 1.
std::string NpyHeader(const HostTensor& tensor);

}  // namespace bwmm::host
