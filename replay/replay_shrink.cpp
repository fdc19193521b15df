#include "replay/replay_shrink.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace bwmm::replay {
namespace {

using StepAt = std::pair<int, std::size_t>;  // core, index

// Steps that only go together: those of one meeting, or one step alone.
std::vector<std::vector<StepAt>> GroupsOf(const ReplayProgram& program) {
  std::vector<std::vector<StepAt>> groups;
  // The two cores and the pipe of a sendrecv (a barrier: none) and its number, to its group.
  std::map<std::tuple<int, int, int, int>, std::size_t> meetings;
  for (int core = 0; core < std::ssize(program.cores); ++core) {
    std::map<std::tuple<int, int, int>, int> count;
    for (std::size_t i = 0; i < program.cores[core].size(); ++i) {
      const isa::Body& body = program.cores[core][i].instruction.body;
      const auto* exchange = std::get_if<isa::SendRecv>(&body);
      if (exchange == nullptr && !std::holds_alternative<isa::CoreBarrier>(body)) {
        groups.push_back({{core, i}});
        continue;
      }
      std::tuple<int, int, int> with(-1, -1, 0);
      if (exchange != nullptr)
        with = {std::min(core, exchange->peer), std::max(core, exchange->peer), exchange->pipe_id};
      const auto [found, added] =
          meetings.emplace(std::tuple_cat(with, std::tuple(count[with]++)), groups.size());
      if (added)
        groups.emplace_back();
      groups[found->second].push_back({core, i});
    }
  }
  return groups;
}

ReplayProgram Without(const ReplayProgram& program, const std::vector<std::vector<StepAt>>& groups,
                      std::size_t begin, std::size_t end) {
  std::vector<std::set<std::size_t>> gone(program.cores.size());
  for (std::size_t g = begin; g < end; ++g) {
    for (const auto& [core, index] : groups[g])
      gone[core].insert(index);
  }
  ReplayProgram rest = program;
  for (std::size_t core = 0; core < program.cores.size(); ++core) {
    rest.cores[core].clear();
    std::set<std::uint32_t> lost;
    for (std::size_t i = 0; i < program.cores[core].size(); ++i) {
      const ReplayStep& step = program.cores[core][i];
      const bool drop = gone[core].contains(i) || (step.when && lost.contains(step.when->load));
      if (!drop)
        rest.cores[core].push_back(step);
      else if (std::holds_alternative<isa::RegisterLoad>(step.instruction.body))
        lost.insert(step.instruction.id);
    }
  }
  return rest;
}

}  // namespace

ReplayProgram Shrink(ReplayProgram program, const StillFails& still_fails, int tries) {
  const auto try_instead = [&](ReplayProgram smaller) {
    if (tries <= 0 ||
        smaller.steps() + smaller.tensors.size() >= program.steps() + program.tensors.size())
      return false;
    --tries;
    if (!still_fails(smaller))
      return false;
    program = std::move(smaller);
    return true;
  };
  bool shorter = true;
  while (shorter && tries > 0) {
    shorter = false;
    for (std::size_t chunk = GroupsOf(program).size(); chunk > 0; chunk /= 2) {
      // From the end: what comes later uses what came before.
      std::size_t end = GroupsOf(program).size();
      while (end > 0 && tries > 0) {
        const auto groups = GroupsOf(program);
        end = std::min(end, groups.size());
        const std::size_t begin = end - std::min(end, chunk);
        if (try_instead(Without(program, groups, begin, end)))
          shorter = true;
        end = begin;
      }
    }
  }
  for (std::size_t t = program.tensors.size(); t-- > 0;) {
    ReplayProgram smaller = program;
    smaller.tensors.erase(smaller.tensors.begin() + static_cast<std::ptrdiff_t>(t));
    try_instead(std::move(smaller));
  }
  return program;
}

}  // namespace bwmm::replay
