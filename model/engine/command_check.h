// Refuses commands the array cannot run, with the operand, its value and the limit.
#pragma once

#include "model/engine/tensor_engine.h"

namespace bwmm::engine {

// Follows one engine's commands, because a MultiplyMoving must fit the LoadStationary before it.
class CommandCheck {
 public:
  // `data`: commands carry operand data (false in a timing-only engine).
  CommandCheck(const TensorEngineConfig& config, bool data) : config_(config), data_(data) {}

  void Accept(const LoadCommand& command);
  void Accept(const MoveCommand& command);

 private:
  TensorEngineConfig config_;
  bool data_;
  bool loaded_ = false;
  PeMode mode_ = PeMode::kOrdinary;
  int rows_ = 0;
  bool parts_ = false;
};

}  // namespace bwmm::engine
