// The bytes of a region, by counting: one nested loop per repeat.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "model/isa/region.h"

namespace bwmm::test {

inline std::set<std::int64_t> BytesOf(const isa::Region& region) {
  std::vector<std::int64_t> starts = {static_cast<std::int64_t>(region.begin)};
  std::int64_t run = static_cast<std::int64_t>(region.end - region.begin);
  for (const isa::Region::Repeat& repeat : region.repeats) {
    run = region.run;
    std::vector<std::int64_t> further;
    for (const std::int64_t start : starts) {
      for (std::int64_t n = 0; n < repeat.count; ++n)
        further.push_back(start + n * repeat.stride);
    }
    starts = further;
  }
  std::set<std::int64_t> bytes;
  for (const std::int64_t start : starts) {
    for (std::int64_t byte = 0; byte < run; ++byte)
      bytes.insert(start + byte);
  }
  return bytes;
}

}  // namespace bwmm::test
