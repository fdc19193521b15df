#include "model/ops/order_graph.h"

#include <utility>

#include "model/isa/unit.h"

namespace bwmm::ops {

using isa::Unit;

void OrderGraph::Add(const isa::Instruction& instruction, std::vector<isa::Access> accesses) {
  Core& core = cores_[instruction.core];
  Node node{.unit = isa::UnitOf(instruction),
            .software_descriptors = isa::HasSoftwareDescriptors(instruction),
            .tensor_load = std::holds_alternative<isa::LoadStationary>(instruction.body),
            .accesses = std::move(accesses),
            .dependencies = {},
            .previous = {},
            .register_load = core.register_load,
            .meeting = {}};
  // GpSimd writes software descriptors in its turn.
  const Unit stream = node.software_descriptors ? Unit::kGpSimd : node.unit;
  if (stream != Unit::kDma)
    node.previous = std::exchange(core.last_in_unit[static_cast<int>(stream)], instruction.id);
  if (isa::IsMeeting(instruction.body)) {
    const auto* exchange = std::get_if<isa::SendRecv>(&instruction.body);
    const auto with = exchange ? static_cast<std::size_t>(exchange->peer) : cores_.size();
    Meetings& meetings = core.meetings[with];
    node.meeting = {with, meetings.first + static_cast<std::uint32_t>(meetings.ids.size())};
    meetings.ids.push_back(instruction.id);
  }
  core.nodes.push_back(std::move(node));
  if (core.nodes.size() <= kHistory)
    return;
  if (const auto& meeting = core.nodes.front().meeting) {
    core.meetings[meeting->with].ids.pop_front();
    ++core.meetings[meeting->with].first;
  }
  core.nodes.pop_front();
  ++core.first;
}

void OrderGraph::RegisterRead(int core, std::uint32_t register_load) {
  cores_[core].register_load = register_load;
}

void OrderGraph::FindEdges(Core& core) {
  core.built = std::max(core.built, core.first);
  core.hazards.Forget(core.first);
  const std::uint32_t end = core.first + static_cast<std::uint32_t>(core.nodes.size());
  for (; core.built < end; ++core.built) {
    Node& node = core.nodes[core.built - core.first];
    core.hazards.Add(core.built, node.unit, node.tensor_load, node.accesses,
                     node.software_descriptors ? isa::Gate::kData : isa::Gate::kStart,
                     node.dependencies);
    node.accesses = {};
  }
}

// Backwards from the start of `second`, over everything that must have happened, to the end of
// `first`.
class OrderGraph::Search {
 public:
  Search(const std::vector<Core>& cores, const Place& first) : cores_(cores), first_(first) {}

  bool Reaches(const Place& second) {
    Push(second.core, second.id, false);
    while (!open_.empty() && !found_) {
      const Event event = open_.back();
      open_.pop_back();
      const Node& node = cores_[event.core].nodes[event.id - cores_[event.core].first];
      if (event.end)
        BeforeEnd(event, node);
      else
        BeforeStart(event, node);
    }
    return found_;
  }

 private:
  struct Event {
    int core;
    std::uint32_t id;
    bool end;
  };

  const Node* Find(int core, std::uint32_t id) const {
    const Core& c = cores_[core];
    return id >= c.first && id - c.first < c.nodes.size() ? &c.nodes[id - c.first] : nullptr;
  }

  void Push(int core, std::uint32_t id, bool end) {
    if (core == first_.core && id == first_.id)
      found_ = found_ || end;
    // Nothing on that core that comes earlier in the program can wait for it.
    if (Find(core, id) == nullptr || (core == first_.core && id <= first_.id))
      return;
    if (seen_.insert((std::uint64_t{id} << 32) | (core << 1) | (end ? 1 : 0)).second)
      open_.push_back({core, id, end});
  }

  void BeforeStart(const Event& event, const Node& node) {
    for (const isa::Dependency& dependency : node.dependencies) {
      const Node* on = Find(event.core, dependency.id);
      // The array's operands are read before it is over.
      const bool read_only = dependency.until_read && on != nullptr && on->unit == Unit::kTensor;
      Push(event.core, dependency.id, !read_only);
    }
    if (node.register_load)
      Push(event.core, *node.register_load, true);
    if (!node.previous)
      return;
    Push(event.core, *node.previous, false);
    // GpSimd stands still in a core_barrier.
    const Node* previous = Find(event.core, *node.previous);
    if (previous != nullptr && previous->meeting)
      Push(event.core, *node.previous, true);
  }

  void BeforeEnd(const Event& event, const Node& node) {
    Push(event.core, event.id, false);
    if (node.unit != Unit::kDma && node.previous) {
      const Node* previous = Find(event.core, *node.previous);
      if (previous != nullptr && previous->unit == node.unit)
        Push(event.core, *node.previous, true);
    }
    if (!node.meeting)
      return;
    for (int core = 0; core < std::ssize(cores_); ++core) {
      if (core != event.core && (node.meeting->with == cores_.size() ||
                                 node.meeting->with == static_cast<std::size_t>(core)))
        PushMeeting(event.core, *node.meeting, core);
    }
  }

  // What `peer` does at a meeting of `core`, if it is known.
  void PushMeeting(int core, const Meeting& meeting, int peer) {
    const bool all = meeting.with == cores_.size();
    const Meetings& theirs = cores_[peer].meetings[all ? cores_.size() : core];
    if (meeting.number >= theirs.first && meeting.number - theirs.first < theirs.ids.size())
      Push(peer, theirs.ids[meeting.number - theirs.first], false);
  }

  const std::vector<Core>& cores_;
  const Place first_;
  bool found_ = false;
  std::vector<Event> open_;
  std::unordered_set<std::uint64_t> seen_;
};

bool OrderGraph::Orders(const Place& first, const Place& second) {
  for (Core& core : cores_)
    FindEdges(core);
  return Search(cores_, first).Reaches(second);
}

}  // namespace bwmm::ops
