#include "model/ops/lifetimes.h"

#include <algorithm>

#include "model/support/sim_error.h"

namespace bwmm::ops {

void Lifetimes::Allocated(std::uint64_t begin, std::uint64_t bytes, const std::string& tile) {
  const std::uint64_t end = begin + bytes;
  const auto next = live_.lower_bound(end);
  if (next != live_.begin() && std::prev(next)->second.end > begin) {
    const auto& [other, owner] = *std::prev(next);
    throw SimError("{}: tile {} gets bytes {}..{}, tile {} owns {}..{}", name_, tile, begin,
                   end - 1, owner.name, other, owner.end - 1);
  }
  live_[begin] = {.end = end, .name = tile};
}

void Lifetimes::Freed(std::uint64_t begin, std::uint32_t position) {
  const auto tile = live_.find(begin);
  if (tile == live_.end())
    return;
  for (std::uint64_t granule = begin / kGranule; granule * kGranule < tile->second.end; ++granule)
    frees_[granule].push_back(position);
  any_ = true;
  live_.erase(tile);
}

std::uint8_t Lifetimes::GenerationAt(std::uint64_t at, std::uint32_t position,
                                     std::uint64_t& end) const {
  if (!any_)
    return 0;
  const auto generation = [&](std::uint64_t granule) {
    const std::vector<std::uint32_t>& positions = frees_[granule];
    auto count = positions.size();
    while (count > 0 && positions[count - 1] > position)
      --count;
    return count;
  };
  std::uint64_t granule = at / kGranule;
  const std::size_t here = generation(granule);
  while (++granule * kGranule < end && generation(granule) == here) {
  }
  end = std::min(end, granule * kGranule);
  // 0 stands for "never written" in a checker's map, so there is one value less than a byte has.
  return static_cast<std::uint8_t>(here % 255);
}

}  // namespace bwmm::ops
