#include "model/ops/lifetimes.h"

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
  const auto end = static_cast<std::int64_t>(tile->second.end);
  for (std::int64_t granule = static_cast<std::int64_t>(begin) / kGranule; granule * kGranule < end;
       ++granule)
    frees_[granule].push_back(position);
  any_ = true;
  live_.erase(tile);
}

}  // namespace bwmm::ops
