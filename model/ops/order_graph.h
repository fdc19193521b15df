// What the machine puts in order, whatever its timing: which instruction is over before another one
// starts, on any number of cores.
//
//   core 0   x --hazard--> barrier ---+         an edge is: a hazard by address (the semaphores the
//                                     |         issue stage adds), the order within an in-order
//   core 1            barrier <-------+         unit, a register the program waited for, and a
//                        |--hazard--> y         meeting, which is over when all are there: the k-th
//                                               barriers of all cores, the k-th sendrecvs of two
//
// Instructions are kept as they come and the edges are found when somebody asks, which is seldom.
// The last kHistory of a core are kept; what is older can be put in order by a core_barrier only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "model/isa/hazard_tracker.h"

namespace bwmm::ops {

class OrderGraph {
 public:
  static constexpr std::uint32_t kHistory = 65536;

  explicit OrderGraph(int cores) : cores_(cores) {
    for (Core& core : cores_)
      core.meetings.resize(cores + 1);
  }

  struct Place {
    int core = 0;
    std::uint32_t id = 0;
  };

  // In each core's program order.
  void Add(const isa::Instruction& instruction, std::vector<isa::Access> accesses);
  // The core's program goes on only when the value of `register_load` is there.
  void RegisterRead(int core, std::uint32_t register_load);

  // `first` is over before `second` starts, in every execution.
  bool Orders(const Place& first, const Place& second);

 private:
  struct Meeting {
    std::size_t with = 0;      // the peer of a sendrecv; the number of cores: a barrier
    std::uint32_t number = 0;  // among those of its core
  };
  struct Node {
    isa::Unit unit = isa::Unit::kTensor;
    bool software_descriptors = false;
    bool tensor_load = false;
    std::vector<isa::Access> accesses;  // until the edges are found
    std::vector<isa::Dependency> dependencies;
    std::optional<std::uint32_t> previous;       // in its unit
    std::optional<std::uint32_t> register_load;  // the program waited for it
    std::optional<Meeting> meeting;
  };
  // Meetings with one core, or barriers: ids, oldest first.
  struct Meetings {
    std::deque<std::uint32_t> ids;
    std::uint32_t first = 0;  // number of ids.front()
  };
  struct Core {
    std::deque<Node> nodes;
    std::uint32_t first = 0;  // id of nodes.front()
    std::uint32_t built = 0;  // edges are known below this id
    isa::HazardTracker hazards;
    std::array<std::optional<std::uint32_t>, isa::kUnits> last_in_unit;
    std::optional<std::uint32_t> register_load;
    std::vector<Meetings> meetings;  // by peer, then the barriers
  };
  // The start (even) or the end (odd) of an instruction.
  class Search;

  void FindEdges(Core& core);

  std::vector<Core> cores_;
};

}  // namespace bwmm::ops
