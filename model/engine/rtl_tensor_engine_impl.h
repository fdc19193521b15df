// RtlTensorEngine over one Verilated array size; included by the files that instantiate it.
//
// Per edge: the engine's outputs say which operand slices the edge takes; they are put on the
// operand ports, the head of the queue on the command port, and the clock is toggled. Outputs
// depend on registers only (command_ready also on the command), so they are read before the edge.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "model/engine/command_check.h"
#include "model/engine/rtl_command.h"
#include "model/engine/tensor_engine.h"
#include "model/support/check.h"

namespace bwmm::engine {

template <typename Model, int kRows, int kCols>
class RtlTensorEngine : public TensorEngine {
 public:
  // `x_seed` decides what uninitialised state holds: 0 zeros, else random bits.
  explicit RtlTensorEngine(const TensorEngineConfig& config, int x_seed = 0, bool traced = false)
      : config_(config), check_(config, true) {
    context_.randReset(x_seed == 0 ? 0 : 2);
    context_.randSeed(x_seed);
    context_.traceEverOn(traced);
    model_ = std::make_unique<Model>(&context_);
    model_->min_interval_i = static_cast<std::uint16_t>(config.min_interval);
    model_->enable_i = 1;
    model_->rst_ni = 0;
    model_->eval();  // the clock must have been low for its first rise to count
    Toggle();
    model_->rst_ni = 1;
    model_->eval();
  }

  ~RtlTensorEngine() override { model_->final(); }

  bool CanPush() const override {
    return queue_.size() < static_cast<std::size_t>(config_.queue_depth);
  }

  void Push(LoadCommand command) override {
    Check(CanPush(), "a command is pushed only when the queue has room");
    check_.Accept(command);
    queue_.emplace_back(std::move(command));
  }

  void Push(MoveCommand command) override {
    Check(CanPush(), "a command is pushed only when the queue has room");
    check_.Accept(command);
    queue_.emplace_back(std::move(command));
  }

  Cycle cycle() const override { return cycle_; }

  std::optional<Cycle> NextEventCycle() const override {
    return idle() ? std::nullopt : std::optional(cycle_);
  }

  void AdvanceTo(Cycle cycle) override {
    Check(cycle >= cycle_, "time does not run backwards");
    while (cycle_ < cycle && !idle())
      Step();
    cycle_ = cycle;
  }

  std::vector<Event> TakeEvents() override { return std::exchange(happened_, {}); }

  void ReadPsum(int word, std::span<std::uint32_t> lanes) const override {
    CheckPort(word, lanes.size());
    model_->port_word_i = static_cast<std::uint16_t>(word);
    model_->eval();
    for (int c = 0; c < kCols; ++c)
      lanes[c] = model_->port_data_o[c];
  }

  void WritePsum(int word, std::span<const std::uint32_t> lanes) override {
    CheckPort(word, lanes.size());
    model_->port_word_i = static_cast<std::uint16_t>(word);
    for (int c = 0; c < kCols; ++c)
      model_->port_data_i[c] = lanes[c];
    model_->port_write_i = 1;
    model_->enable_i = 0;
    Toggle();
    model_->port_write_i = 0;
    model_->enable_i = 1;
  }

 protected:
  Model& model() { return *model_; }

  // Called after each half of the edge at cycle().
  virtual void AfterClock(bool /*high*/) {}

 private:
  using Command = std::variant<LoadCommand, MoveCommand>;

  bool idle() const { return queue_.empty() && !model_->busy_o; }

  void CheckPort(int word, std::size_t lanes) const {
    Check(word >= 0 && word < config_.psum_words && lanes == kCols,
          "a PSUM access is one row of all columns");
  }

  // A clock edge outside the engine's own time.
  void Toggle() {
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
  }

  void Step() {
    model_->command_valid_i = !queue_.empty();
    if (!queue_.empty()) {
      DriveCommand(queue_.front(), *model_);
      model_->eval();
      if (model_->command_ready_o) {
        std::visit([this](auto& command) { Accepted(std::move(command)); }, queue_.front());
        queue_.pop_front();
      }
    }
    const std::size_t first_event = happened_.size();
    if (model_->load_take_o)
      TakeLoad();
    if (model_->move_take_o)
      TakeMove();
    if (model_->written_o)
      Happened(model_->written_id_o, EventKind::kWritten);
    std::sort(happened_.begin() + static_cast<std::ptrdiff_t>(first_event), happened_.end(),
              [](const Event& a, const Event& b) {
                return std::pair(a.kind, a.id) < std::pair(b.kind, b.id);
              });
    for (const bool high : {true, false}) {
      model_->clk_i = high;
      model_->eval();
      AfterClock(high);
    }
    ++cycle_;
  }

  void Accepted(LoadCommand command) { loads_.push_back(std::move(command)); }
  void Accepted(MoveCommand command) { moves_.push_back(std::move(command)); }

  void TakeLoad() {
    const LoadCommand& load = loads_.front();
    Check(load.id == model_->load_id_o, "loads are taken in the order they were accepted");
    const int first = model_->load_index_o;
    const int count = std::min(4, load.cols - first);
    for (int k = 0; k < load.rows; ++k) {
      for (int c = 0; c < 4; ++c)
        model_->w_word_i[4 * k + c] =
            c < count ? load.data[std::size_t{1} * k * load.cols + first + c] : 0;
    }
    for (std::size_t g = 0; g * load.cols < load.scales.size(); ++g) {
      std::uint32_t scales = 0;
      for (int c = 0; c < count; ++c)
        scales |= std::uint32_t{load.scales[g * load.cols + first + c]} << (8 * c);
      model_->w_scale_i[g] = scales;
    }
    if (model_->load_first_o)
      Happened(load.id, EventKind::kStarted);
    if (model_->load_last_o) {
      Happened(load.id, EventKind::kReadDone);
      loads_.pop_front();
    }
  }

  void TakeMove() {
    const MoveCommand& move = moves_.front();
    Check(move.id == model_->move_id_o, "moves are taken in the order they were accepted");
    const int index = model_->move_index_o;
    if (move.mode != PeMode::kTranspose) {
      for (int k = 0; k < move.rows; ++k)
        model_->x_word_i[k] = move.data[std::size_t{1} * k * move.n + index];
    }
    for (std::size_t g = 0; g * move.n < move.scales.size(); ++g)
      model_->x_scale_i[g] = move.scales[g * move.n + index];
    if (model_->move_first_o)
      Happened(move.id, EventKind::kStarted);
    if (model_->move_last_o) {
      Happened(move.id, EventKind::kReadDone);
      moves_.pop_front();
    }
  }

  void Happened(std::uint32_t id, EventKind kind) {
    happened_.push_back({.id = id, .kind = kind, .cycle = cycle_});
  }

  const TensorEngineConfig config_;
  CommandCheck check_;
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  Cycle cycle_ = 0;
  std::deque<Command> queue_;
  // Accepted and not yet wholly taken: one on the port, one in the slot.
  std::deque<LoadCommand> loads_;
  std::deque<MoveCommand> moves_;
  std::vector<Event> happened_;
};

}  // namespace bwmm::engine
