#include "model/engine/fast_tensor_engine.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "model/engine/make_engines.h"
#include "model/ops/matmul.h"
#include "model/ops/matmul_mx.h"
#include "model/ops/psum.h"
#include "model/support/check.h"

namespace bwmm::engine {
namespace {

auto OrderOf(const Event& event) {
  return std::tuple(event.cycle, event.kind, event.id);
}
bool Later(const Event& a, const Event& b) {
  return OrderOf(a) > OrderOf(b);
}

}  // namespace

FastTensorEngine::FastTensorEngine(const TensorEngineConfig& config, Compute compute)
    : config_(config),
      compute_(compute == Compute::kYes),
      check_(config, compute_),
      schedule_(config),
      psum_(std::size_t{1} * config.psum_words * config.cols) {}

bool FastTensorEngine::CanPush() const {
  return pops_.size() < static_cast<std::size_t>(config_.queue_depth);
}

template <typename Command>
CommandTimes FastTensorEngine::Queue(const Command& command) {
  Check(CanPush(), "a command is pushed only when the queue has room");
  check_.Accept(command);
  const CommandTimes times = schedule_.Accept(command, cycle_);
  pops_.push_back(times.popped);
  Schedule(command.id, EventKind::kStarted, times.started);
  Schedule(command.id, EventKind::kReadDone, times.read_done);
  return times;
}

void FastTensorEngine::Push(LoadCommand command) {
  Queue(command);
  if (compute_)
    in_flight_.emplace_back(std::move(command));
}

void FastTensorEngine::Push(MoveCommand command) {
  const CommandTimes times = Queue(command);
  Schedule(command.id, EventKind::kWritten, times.written);
  if (compute_)
    in_flight_.emplace_back(PendingMove{times.written, std::move(command)});
}

std::optional<Cycle> FastTensorEngine::NextEventCycle() const {
  std::optional<Cycle> next;
  if (!events_.empty())
    next = events_.front().cycle;
  if (!pops_.empty())
    next = next ? std::min(*next, pops_.front()) : pops_.front();
  return next;
}

void FastTensorEngine::AdvanceTo(Cycle cycle) {
  Check(cycle >= cycle_, "time does not run backwards");
  cycle_ = cycle;
  while (!pops_.empty() && pops_.front() < cycle)
    pops_.pop_front();
  while (!events_.empty() && events_.front().cycle < cycle) {
    happened_.push_back(events_.front());
    std::pop_heap(events_.begin(), events_.end(), Later);
    events_.pop_back();
  }
  while (!in_flight_.empty()) {
    if (auto* load = std::get_if<LoadCommand>(&in_flight_.front())) {
      stationary_ = std::move(*load);
    } else {
      const auto& move = std::get<PendingMove>(in_flight_.front());
      if (move.written >= cycle)
        return;
      Finish(move.command);
    }
    in_flight_.pop_front();
  }
}

std::vector<Event> FastTensorEngine::TakeEvents() {
  return std::exchange(happened_, {});
}

void FastTensorEngine::ReadPsum(int word, std::span<std::uint32_t> lanes) const {
  Check(word >= 0 && word < config_.psum_words && std::ssize(lanes) == config_.cols,
        "a PSUM access is one row of all columns");
  std::copy_n(psum_.begin() + std::ptrdiff_t{word} * config_.cols, config_.cols, lanes.begin());
}

void FastTensorEngine::WritePsum(int word, std::span<const std::uint32_t> lanes) {
  Check(word >= 0 && word < config_.psum_words && std::ssize(lanes) == config_.cols,
        "a PSUM access is one row of all columns");
  std::copy(lanes.begin(), lanes.end(), psum_.begin() + std::ptrdiff_t{word} * config_.cols);
}

void FastTensorEngine::Schedule(std::uint32_t id, EventKind kind, Cycle cycle) {
  events_.push_back({.id = id, .kind = kind, .cycle = cycle});
  std::push_heap(events_.begin(), events_.end(), Later);
}

void FastTensorEngine::Finish(const MoveCommand& command) {
  const int cols = stationary_.cols;
  const bool transpose = command.mode == PeMode::kTranspose;
  std::vector<float> out;
  if (command.mode == PeMode::kOrdinary) {
    out.resize(std::size_t{1} * command.n * cols);
    ops::Matmul({stationary_.dtype, stationary_.part}, stationary_.data.data(),
                {command.dtype, command.part}, command.data.data(), command.rows, cols, command.n,
                out.data());
  } else if (command.mode == PeMode::kDoubleRow) {
    out.resize(std::size_t{1} * command.n * cols);
    ops::MatmulDoubleRow(stationary_.dtype, stationary_.data.data(), command.dtype,
                         command.data.data(), command.rows, cols, command.n, out.data());
  } else if (command.mode == PeMode::kMx) {
    out.resize(std::size_t{1} * command.n * cols);
    ops::MatmulMx(stationary_.dtype, stationary_.data.data(), stationary_.scales.data(),
                  command.dtype, command.data.data(), command.scales.data(), command.rows, cols,
                  command.n, out.data());
  }
  const bool half = SizeOf(command.psum_dtype) == 2;
  std::vector<std::uint32_t> row(cols);
  for (int n = 0; n < command.n; ++n) {
    for (int c = 0; c < cols; ++c)
      row[c] = transpose ? stationary_.data[std::size_t{1} * n * cols + c]
                         : std::bit_cast<std::uint32_t>(out[std::size_t{1} * n * cols + c]);
    const int address = command.psum_address + n * (half ? 1 : 2);
    const ops::PsumRowWrite write = {.half = half,
                                     .which = address % 2,
                                     .accumulate = command.accumulate,
                                     .transpose = transpose};
    ops::WritePsumRow(write, row.data(), cols,
                      psum_.data() + std::ptrdiff_t{address / 2} * config_.cols);
  }
}

std::unique_ptr<TensorEngine> MakeFastTensorEngine(const TensorEngineConfig& config) {
  return std::make_unique<FastTensorEngine>(config, FastTensorEngine::Compute::kYes);
}

std::unique_ptr<TensorEngine> MakeTimingTensorEngine(const TensorEngineConfig& config) {
  return std::make_unique<FastTensorEngine>(config, FastTensorEngine::Compute::kNo);
}

}  // namespace bwmm::engine
