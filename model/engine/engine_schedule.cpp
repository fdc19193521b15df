#include "model/engine/engine_schedule.h"

#include <algorithm>

namespace bwmm::engine {
namespace {

constexpr int kLoadColumns = 4;  // columns LoadStationary takes per edge
constexpr int kEntryEdges = 1;   // from the skew buffer into row 0

}  // namespace

CommandTimes EngineSchedule::Accept(const LoadCommand& command, Cycle pushed) {
  CommandTimes times;
  times.popped = std::max({pushed, pop_free_, load_slot_free_});
  times.started = std::max({times.popped + 1, load_port_free_, last_move_start_});
  times.read_done = times.started + (command.cols + kLoadColumns - 1) / kLoadColumns - 1;
  pop_free_ = times.popped + 1;
  load_slot_free_ = times.started;
  load_port_free_ = times.read_done + 1;
  stationary_cols_ = command.cols;
  return times;
}

CommandTimes EngineSchedule::Accept(const MoveCommand& command, Cycle pushed) {
  CommandTimes times;
  times.popped = std::max({pushed, pop_free_, move_slot_free_});
  times.started = std::max({times.popped + 1, move_port_free_, load_port_free_});
  times.read_done = times.started + command.n - 1;
  times.written = times.read_done + config_.rows + kEntryEdges;
  pop_free_ = times.popped + 1;
  move_slot_free_ = times.started;
  move_port_free_ =
      times.started + std::max(command.n, std::min(config_.min_interval, stationary_cols_));
  last_move_start_ = times.started;
  return times;
}

}  // namespace bwmm::engine
