#include "model/units/tensor_unit.h"

#include <algorithm>
#include <utility>

#include "model/ops/pe_operands.h"
#include "model/support/check.h"

namespace bwmm::units {

TensorUnit::TensorUnit(sc_core::sc_module_name name, const Config& config, RunState& run,
                       ops::CoreMemory& memory, engine::TensorEngine& engine)
    : sc_module(name),
      config_(config),
      run_(run),
      memory_(memory),
      engine_(engine),
      throttle_(config.throttle_window) {
  SC_HAS_PROCESS(TensorUnit);
  SC_METHOD(Step);
  sensitive << alarm_.event();
  dont_initialize();
}

void TensorUnit::Accept(Work& work) {
  queue_.push_back(&work);
}

void TensorUnit::GateOpened(Work& work, Gate) {
  if (queue_.front() == &work)
    alarm_.At(StartTime());
}

// When the head of the queue may be pushed, as far as its dependencies and the throttle say.
Tick TensorUnit::StartTime() const {
  const Tick open = queue_.front()->OpenAt(Gate::kStart);
  if (open == kNever)
    return kNever;
  Tick ready = std::max(open, Now());
  if (std::holds_alternative<isa::MultiplyMoving>(queue_.front()->instruction.body))
    ready = std::max(ready, throttle_.next());
  return config_.clock.EdgeAtOrAfter(ready);
}

void TensorUnit::Step() {
  run_.Guard(*this, [&] {
    if (Now() % 2 != 0) {
      ProcessEdge();
    } else {
      DeliverDue();
      PushDue();
    }
    ScheduleNext();
  });
}

void TensorUnit::ProcessEdge() {
  const engine::Cycle cycle = Now() / config_.clock.period;
  engine_.AdvanceTo(cycle + 1);
  for (const engine::Event& event : engine_.TakeEvents()) {
    Check(event.cycle == cycle, "the engine reports an event in the cycle it announced");
    if (event.kind == engine::EventKind::kStarted) {
      AccountStart(InEngine(event.id), cycle * config_.clock.period);
    } else {
      pending_.push_back(event);
    }
  }
}

void TensorUnit::AccountStart(Work& work, Tick edge) {
  work.start = edge;
  if (reading_++ == 0)
    work.stall = ledger_.Gap(edge, work.obstacles(Gate::kStart));
  retire->Started(work);
}

void TensorUnit::DeliverDue() {
  while (!pending_.empty() && (pending_.front().cycle + 1) * config_.clock.period <= Now()) {
    const engine::Event event = pending_.front();
    pending_.pop_front();
    Work& work = InEngine(event.id);
    bool complete = event.kind == engine::EventKind::kWritten;
    if (event.kind == engine::EventKind::kReadDone) {
      --reading_;
      ledger_.Until(Now(), TimeClass::kBusy);
      complete = std::holds_alternative<isa::LoadStationary>(work.instruction.body);
      if (!complete)
        retire->ReadDone(work);
    }
    if (complete) {
      std::erase(in_engine_, &work);
      retire->Complete(work);
    }
  }
}

void TensorUnit::PushDue() {
  if (queue_.empty() || StartTime() > Now())
    return;
  engine_.AdvanceTo(Now() / config_.clock.period);
  while (!queue_.empty() && StartTime() <= Now() && engine_.CanPush()) {
    Work& work = *queue_.front();
    queue_.pop_front();
    in_engine_.push_back(&work);
    run_.Doing(work.instruction);
    retire->Observe(work);
    if (const auto* load = std::get_if<isa::LoadStationary>(&work.instruction.body)) {
      Push(*load, work.instruction.id);
    } else {
      Push(std::get<isa::MultiplyMoving>(work.instruction.body), work.instruction.id);
    }
  }
}

void TensorUnit::Push(const isa::LoadStationary& instruction, std::uint32_t id) {
  engine::LoadCommand command;
  command.id = id;
  command.mode = instruction.mode;
  command.dtype = instruction.stationary.dtype;
  command.part = instruction.part;
  command.rows = static_cast<int>(instruction.stationary.partitions);
  command.cols = static_cast<int>(instruction.stationary.free_size() / RowsInOne(instruction.mode));
  if (!memory_.control_only) {
    ops::PeOperand operand = ops::GatherPeOperand(instruction.stationary, instruction.scale,
                                                  memory_.sbuf, instruction.mode);
    command.data = std::move(operand.data);
    command.scales = std::move(operand.scales);
  }
  engine_.Push(std::move(command));
}

void TensorUnit::Push(const isa::MultiplyMoving& instruction, std::uint32_t id) {
  engine::MoveCommand command;
  command.id = id;
  command.mode = instruction.mode;
  command.dtype = instruction.moving.dtype;
  command.part = instruction.part;
  command.rows = static_cast<int>(instruction.moving.partitions);
  command.n = static_cast<int>(instruction.dst.free_size());
  command.psum_address = ops::PsumAddressOf(instruction.dst);
  command.psum_dtype = instruction.dst.dtype;
  command.accumulate = instruction.accumulate;
  throttle_.Push(Now(), config_.clock.Cycles(command.n));
  stats_.moving_rows += command.n;
  if (instruction.mode != PeMode::kTranspose) {
    const int lanes = instruction.mode == PeMode::kMx ? 4 : RowsInOne(instruction.mode);
    stats_.multiply_adds +=
        static_cast<std::uint64_t>(command.rows) * command.n * lanes * instruction.dst.partitions;
    if (!memory_.control_only) {
      ops::PeOperand operand = ops::GatherPeOperand(instruction.moving, instruction.scale,
                                                    memory_.sbuf, instruction.mode);
      command.data = std::move(operand.data);
      command.scales = std::move(operand.scales);
    }
  }
  engine_.Push(std::move(command));
}

void TensorUnit::ScheduleNext() {
  const Tick period = config_.clock.period;
  Tick next = kNever;
  if (!pending_.empty())
    next = (pending_.front().cycle + 1) * period;
  if (!queue_.empty() && engine_.CanPush())
    next = std::min(next, StartTime());
  if (const auto cycle = engine_.NextEventCycle()) {
    const Tick edge = *cycle * period + 1;
    Check(edge > Now(), "the engine's next event is ahead");
    next = std::min(next, edge);
  }
  if (next != kNever)
    alarm_.At(next);
}

Work& TensorUnit::InEngine(std::uint32_t id) {
  const auto found = std::find_if(in_engine_.begin(), in_engine_.end(),
                                  [&](const Work* work) { return work->instruction.id == id; });
  Check(found != in_engine_.end(), "an engine event names a command in flight");
  return **found;
}

}  // namespace bwmm::units
