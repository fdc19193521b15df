// The dictionary in front of an .npy file's elements: one flat Python literal with exactly the keys
// descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bwmm::host {

struct NpyDictionary {
  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// SimError on any other text; `place` opens it.
NpyDictionary ReadNpyDictionary(std::string_view text, const std::string& place);

}  // namespace bwmm::host
