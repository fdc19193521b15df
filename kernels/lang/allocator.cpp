#include "kernels/lang/allocator.h"

#include <utility>
#include <vector>

#include "model/support/check.h"

namespace bwmm::lang {
namespace {

constexpr std::int64_t kGranule = 64;

std::int64_t RoundUp(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::int64_t Allocator::Align(std::int64_t from, std::int64_t bytes) const {
  if (bank_bytes_ == 0)
    return from;
  const std::int64_t bank_end = RoundUp(from + 1, bank_bytes_);
  const bool crosses = from + bytes > bank_end;
  return crosses || bytes > bank_bytes_ ? RoundUp(from, bank_bytes_) : from;
}

Allocator::Range Allocator::Allocate(const std::string& name, std::int64_t bytes) {
  const std::int64_t size = RoundUp(bytes, kGranule);
  std::int64_t start = 0;
  for (const auto& [offset, buffer] : live_) {
    start = Align(start, size);
    if (start + size <= static_cast<std::int64_t>(offset))
      break;
    start = static_cast<std::int64_t>(offset) + buffer.bytes;
  }
  start = Align(start, size);
  if (start + size > bytes_) {
    throw DoesNotFit(
        "{}: buffer {} of {} bytes per partition does not fit, {} of {} are free; live: {}",
        memory_, name, bytes, free_bytes(), bytes_, LiveTable());
  }
  const std::uint64_t serial = is_live_.size();
  is_live_.push_back(true);
  live_[start] = {.name = name, .bytes = size, .serial = serial};
  used_ += size;
  return {static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(size), serial};
}

void Allocator::Free(std::uint64_t offset) {
  const auto it = live_.find(offset);
  Check(it != live_.end(), "a freed buffer is live");
  used_ -= it->second.bytes;
  is_live_[it->second.serial] = false;
  live_.erase(it);
}

std::string Allocator::LiveTable() const {
  // Rotating buffers are called name.0, name.1, ..; they share a line entry.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups;
  for (const auto& [offset, buffer] : live_) {
    const std::string name = buffer.name.substr(0, buffer.name.find('.'));
    if (groups.empty() || groups.back().first != name)
      groups.push_back({name, {}});
    groups.back().second.push_back(buffer.bytes);
  }
  std::string table;
  for (const auto& [name, sizes] : groups) {
    const std::string count = sizes.size() == 1 ? "" : fmt::format("{} x ", sizes.size());
    table += fmt::format("{}{} {}{}", table.empty() ? "" : ", ", name, count, sizes[0]);
  }
  return table.empty() ? "none" : table;
}

}  // namespace bwmm::lang
