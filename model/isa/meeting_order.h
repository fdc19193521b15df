// Meetings of two cores: core_barrier and sendrecv.
//
//   core 0   barrier A    sendrecv pipe 0    barrier B
//              |                |               |           the k-th of one core meets
//   core 1   barrier A    sendrecv pipe 0    barrier B      the k-th of the other
//
// Program order is the meaning, so both cores come to their meetings in one order; a program that
// does not would wait for ever, one instruction after the other. The executor and the machine ask
// here, and refuse in the same words.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>

#include "model/isa/instruction.h"

namespace bwmm::isa {

class MeetingOrder {
 public:
  explicit MeetingOrder(int cores) : cores_(cores) {}

  // Takes an instruction of a core, in program order. SimError when it is a meeting and the other
  // core's meeting of that number is not the same: another kind, pipe, tensor, shape or type.
  void Add(const Instruction& instruction);

  // When one core has ended: the other's first meeting that stays alone, in words.
  std::optional<std::string> Alone() const;

 private:
  void CheckPair(const Instruction& a, const Instruction& b) const;

  int cores_;
  // Meetings the other core has not reached, oldest first.
  std::array<std::deque<Instruction>, 2> open_;
};

}  // namespace bwmm::isa
