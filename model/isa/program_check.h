// Refuses, for one core's instructions in program order, what Validate refuses and what no
// instruction shows alone: a MultiplyMoving must fit the LoadStationary before it.
//
//   LoadStationary [K, M]  -->  MultiplyMoving: moving [K, N], dst [M, N]; transpose: dst [M, K]
//
// The executor, the machine and a dry run all ask here, so they refuse the same programs in the
// same words.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "model/isa/instruction.h"
#include "model/isa/sink.h"

namespace bwmm::isa {

class ProgramCheck {
 public:
  explicit ProgramCheck(const Limits& limits) : limits_(limits) {}

  // SimError naming instruction, core, operand, value and limit.
  void Add(const Instruction& instruction);
  // SimError unless the instruction added under this id is a RegisterLoad.
  void ReadRegister(int core, std::uint32_t id) const;

 private:
  Limits limits_;
  std::unordered_set<std::uint32_t> register_loads_;
  std::optional<LoadStationary> stationary_;
};

}  // namespace bwmm::isa
