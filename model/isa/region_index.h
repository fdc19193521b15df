// Accesses to regions with gaps, found by the box they lie in.
//
//   boxes of up to 2^k bytes are one class, ordered by where they begin: those that meet
//   [begin, end) begin between begin - 2^k and end
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/isa/region.h"

namespace bwmm::isa {

template <typename Record>
class RegionIndex {
 public:
  void Insert(const Region& region, const Record& record) {
    ClassOf(region).entries.emplace(region.begin, Entry{region, record});
  }

  // keep(region, record), which may change the record, for each entry whose box meets [begin, end).
  template <typename Keep>
  void Visit(std::uint64_t begin, std::uint64_t end, Keep keep) {
    for (Class& c : classes_) {
      const std::uint64_t from = begin > c.widest ? begin - c.widest : 0;
      for (auto i = c.entries.lower_bound(from); i != c.entries.end() && i->first < end;) {
        const bool meets = i->second.region.end > begin;
        i = meets && !keep(i->second.region, i->second.record) ? c.entries.erase(i) : std::next(i);
      }
    }
  }

  // The same for the entries of exactly these bytes.
  template <typename Keep>
  void VisitSame(const Region& region, Keep keep) {
    auto& entries = ClassOf(region).entries;
    for (auto i = entries.lower_bound(region.begin);
         i != entries.end() && i->first == region.begin;) {
      const bool same = Covers(region, i->second.region);
      i = same && !keep(i->second.record) ? entries.erase(i) : std::next(i);
    }
  }

 private:
  struct Entry {
    Region region;
    Record record;
  };
  struct Class {
    std::uint64_t widest = 0;
    std::multimap<std::uint64_t, Entry> entries;
  };

  Class& ClassOf(const Region& region) {
    const std::uint64_t widest = std::bit_ceil(region.end - region.begin);
    for (Class& c : classes_) {
      if (c.widest == widest)
        return c;
    }
    return classes_.emplace_back(Class{widest, {}});
  }

  std::vector<Class> classes_;
};

}  // namespace bwmm::isa
