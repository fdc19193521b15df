// The TensorEngine in C++: event cycles from EngineSchedule, bits from model/ops.
//
//   Push --> [ schedule ] --> events
//       \--> in order, at the written edge: Matmul, MatmulMx or transpose --> PSUM
//
// With `compute` off it is the timing-only engine: commands carry no data, PSUM is not computed,
// the events are the same. The RTL twin is rtl/core/tensor_engine.sv.
#pragma once

#include <deque>
#include <variant>
#include <vector>

#include "model/engine/command_check.h"
#include "model/engine/engine_schedule.h"
#include "model/engine/tensor_engine.h"

namespace bwmm::engine {

class FastTensorEngine final : public TensorEngine {
 public:
  enum class Compute { kYes, kNo };

  FastTensorEngine(const TensorEngineConfig& config, Compute compute);

  bool CanPush() const override;
  void Push(LoadCommand command) override;
  void Push(MoveCommand command) override;
  Cycle cycle() const override { return cycle_; }
  std::optional<Cycle> NextEventCycle() const override;
  void AdvanceTo(Cycle cycle) override;
  std::vector<Event> TakeEvents() override;
  void ReadPsum(int word, std::span<std::uint32_t> lanes) const override;
  void WritePsum(int word, std::span<const std::uint32_t> lanes) override;

 private:
  struct PendingMove {
    Cycle written = 0;
    MoveCommand command;
  };

  // Takes the command into the queue: when it is popped, read and, of a MoveCommand, written.
  template <typename Command>
  CommandTimes Queue(const Command& command);
  void Schedule(std::uint32_t id, EventKind kind, Cycle cycle);
  void Finish(const MoveCommand& command);

  const TensorEngineConfig config_;
  const bool compute_;
  CommandCheck check_;
  EngineSchedule schedule_;
  Cycle cycle_ = 0;
  std::deque<Cycle> pops_;       // of the commands still queued, ascending
  std::vector<Event> events_;    // heap, earliest on top
  std::vector<Event> happened_;  // since TakeEvents
  // Commands whose effect on PSUM is still to come, in order.
  std::deque<std::variant<LoadCommand, PendingMove>> in_flight_;
  LoadCommand stationary_;
  std::vector<std::uint32_t> psum_;  // [psum_words][cols]
};

}  // namespace bwmm::engine
