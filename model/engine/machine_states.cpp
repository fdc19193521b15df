#include "model/engine/machine_states.h"

#include <algorithm>

namespace bwmm::engine {

void MachineStates::Started(std::uint64_t time_ps, TracedUnit unit, std::uint32_t id,
                            std::string_view opcode) {
  units_[static_cast<int>(unit)].starts.push_back({time_ps, id, std::string(opcode)});
}

void MachineStates::Spent(std::uint64_t from_ps, std::uint64_t to_ps, TracedUnit unit,
                          std::string_view waiting) {
  std::vector<Stretch>& stretches = units_[static_cast<int>(unit)].stretches;
  if (!stretches.empty() && stretches.back().waiting == waiting)
    stretches.back().to_ps = to_ps;
  else
    stretches.push_back({from_ps, to_ps, std::string(waiting)});
}

std::vector<UnitChange> MachineStates::ChangesOf(TracedUnit unit, const Unit& history) {
  std::vector<UnitChange> changes;
  UnitSignals last;
  auto start = history.starts.begin();
  const auto take = [&](std::uint64_t until) {
    for (; start != history.starts.end() && start->time_ps <= until; ++start) {
      last.id = start->id;
      last.opcode = start->opcode;
    }
  };
  for (const Stretch& stretch : history.stretches) {
    take(stretch.from_ps);
    if (!stretch.waiting.empty()) {
      changes.push_back({stretch.from_ps, unit, {.waiting = stretch.waiting}});
      continue;
    }
    last.busy = true;
    changes.push_back({stretch.from_ps, unit, last});
    while (start != history.starts.end() && start->time_ps < stretch.to_ps) {
      const std::uint64_t time = start->time_ps;
      take(time);
      changes.push_back({time, unit, last});
    }
  }
  if (!history.stretches.empty())
    changes.push_back({history.stretches.back().to_ps, unit, {}});
  return changes;
}

std::vector<UnitChange> MachineStates::Changes(std::uint64_t from_ps, std::uint64_t to_ps) const {
  std::vector<UnitChange> all;
  for (int u = 0; u < kTracedUnits; ++u) {
    std::vector<UnitChange> changes = ChangesOf(static_cast<TracedUnit>(u), units_[u]);
    // Of those before the window the last one counts.
    const auto first = std::upper_bound(
        changes.begin(), changes.end(), from_ps,
        [](std::uint64_t time, const UnitChange& change) { return time < change.time_ps; });
    if (first != changes.begin()) {
      all.push_back(*(first - 1));
      all.back().time_ps = from_ps;
    }
    for (auto change = first; change != changes.end() && change->time_ps < to_ps; ++change)
      all.push_back(*change);
  }
  std::ranges::stable_sort(all, {}, &UnitChange::time_ps);
  return all;
}

}  // namespace bwmm::engine
