// When things happen in the TensorEngine, in closed form: the cycle contract of
// docs/units/tensor_engine.md, which rtl/pe/pe_array_ctrl.sv implements edge by edge.
//
// Commands never influence earlier ones, so everything is known when a command is pushed.
#pragma once

#include <cstdint>

#include "model/engine/tensor_engine.h"

namespace bwmm::engine {

// Edges of one command. `written` is of MultiplyMoving only.
struct CommandTimes {
  Cycle popped = 0;
  Cycle started = 0;
  Cycle read_done = 0;
  Cycle written = 0;
};

class EngineSchedule {
 public:
  explicit EngineSchedule(const TensorEngineConfig& config) : config_(config) {}

  // `pushed` is the first edge that can see the command.
  CommandTimes Accept(const LoadCommand& command, Cycle pushed);
  CommandTimes Accept(const MoveCommand& command, Cycle pushed);

 private:
  TensorEngineConfig config_;
  // First edge at which each may happen again.
  Cycle pop_free_ = 0;
  Cycle load_slot_free_ = 0;
  Cycle move_slot_free_ = 0;
  Cycle load_port_free_ = 0;
  Cycle move_port_free_ = 0;
  Cycle last_move_start_ = 0;
  int stationary_cols_ = 0;
};

}  // namespace bwmm::engine
