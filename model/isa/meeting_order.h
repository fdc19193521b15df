// Meetings of cores: core_barrier, where all of them meet, and sendrecv, where two do.
//
//   core 0   barrier A    sendrecv with 1, pipe 0    barrier B     sendrecv with 2
//              |                |                      |             :
//   core 1   barrier A    sendrecv with 0, pipe 0    barrier B       :
//              |                                       |             :
//   core 2   barrier A    ---------------------------- barrier B   sendrecv with 0
//
// Program order is the meaning, so a core is done with a meeting before it comes to its next one.
// Cores that come to their meetings in different orders, or in a ring, would wait for ever. The
// executor and the machine ask here, and refuse in the same words.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "model/isa/instruction.h"

namespace bwmm::isa {

// "core 1, which has", "cores 1, 3, which have": to say what they have not done.
std::string CoresWhich(const std::vector<int>& cores);

class MeetingOrder {
 public:
  explicit MeetingOrder(int cores) : open_(cores) {}

  // Takes an instruction of a core, in its program order. SimError when it is a meeting that can
  // never take place: the core it is with comes to another kind, pipe, tensor, shape or type, or
  // cores wait for each other in a ring.
  void Add(const Instruction& instruction);

  // When nobody comes to another meeting: the first one that stays alone, in words.
  std::optional<std::string> Alone() const;

 private:
  using Head = const Instruction*;

  int cores() const { return static_cast<int>(open_.size()); }
  // The meeting a core stands at; null when it is at none.
  Head HeadOf(int core) const { return open_[core].empty() ? nullptr : &open_[core].front(); }
  // Lets one meeting take place, if one can.
  bool MeetOnce();
  bool MeetAll();
  bool MeetPair(int core);
  void RefuseRing(int core) const;

  // Of each core, the meetings it has not come to the end of, oldest first.
  std::vector<std::deque<Instruction>> open_;
};

}  // namespace bwmm::isa
