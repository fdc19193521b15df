#include "model/units/in_order_engine.h"

#include <algorithm>
#include <utility>

#include "model/support/check.h"

namespace bwmm::units {

InOrderEngine::InOrderEngine(sc_core::sc_module_name name, const Config& config, RunState& run,
                             ops::CoreMemory& memory)
    : sc_module(name), config_(config), run_(run), memory_(memory) {
  SC_HAS_PROCESS(InOrderEngine);
  SC_METHOD(Step);
  sensitive << alarm_.event();
  dont_initialize();
}

void InOrderEngine::Accept(Work& work) {
  if (queue_.empty())
    head_at_ = Now();
  queue_.push_back(&work);
}

void InOrderEngine::GateOpened(Work& work, Gate) {
  if (queue_.front() == &work && free_at_ != kNever)
    alarm_.At(StartTime(work));
}

Tick InOrderEngine::StartTime(const Work& work) const {
  const Tick open = work.OpenAt(Gate::kStart);
  if (open == kNever || free_at_ == kNever)
    return kNever;
  Tick ready = std::max(open, free_at_);
  if (LoadsTable(work))
    ready = std::max(ready, std::max(head_at_, free_at_) + config_.activation_table);
  return config_.clock.EdgeAtOrAfter(ready);
}

// Which functions share a table is not documented: each has its own, and copies need none.
bool InOrderEngine::LoadsTable(const Work& work) const {
  const auto* activation = std::get_if<isa::ActivationOp>(&work.instruction.body);
  return activation != nullptr && activation->function != Activation::kIdentity &&
         activation->function != table_;
}

void InOrderEngine::Step() {
  run_.Guard(*this, [&] {
    FinishDue();
    StartDue();
    ScheduleNext();
  });
}

void InOrderEngine::FinishDue() {
  while (!running_.empty() && running_.front().done_at <= Now()) {
    Running done = std::move(running_.front());
    running_.pop_front();
    if (done.hand_over) {
      descriptors->DescriptorsWritten(*done.work, std::move(done.lanes));
    } else {
      if (done.work == in_barrier_) {
        in_barrier_ = nullptr;
        free_at_ = Now();
        ledger_.Until(Now(), TimeClass::kPeer);
      }
      retire->Complete(*done.work);
    }
  }
}

void InOrderEngine::StartDue() {
  while (!queue_.empty() && StartTime(*queue_.front()) <= Now()) {
    Work& work = *queue_.front();
    queue_.pop_front();
    if (LoadsTable(work))
      table_ = std::get<isa::ActivationOp>(work.instruction.body).function;
    head_at_ = Now();
    Start(work);
  }
}

void InOrderEngine::Start(Work& work) {
  run_.Doing(work.instruction);
  work.start = Now();
  work.stall = ledger_.Gap(Now(), work.obstacles(Gate::kStart));
  // Of a software DMA the descriptors start here, the DMA itself later.
  if (work.software_descriptors)
    retire->DescriptorsStarted(work);
  else
    retire->Started(work);
  if (std::holds_alternative<isa::CoreBarrier>(work.instruction.body)) {
    free_at_ = kNever;
    in_barrier_ = &work;
    meeting->Arrive(work);
    return;
  }
  Running running{.work = &work};
  Cost cost;
  Tick extra = 0;
  if (work.software_descriptors) {
    const auto& copy = std::get<isa::DmaCopy>(work.instruction.body);
    running.lanes = ops::TrafficOf(copy, memory_).lanes;
    running.hand_over = true;
    cost.occupancy =
        DescriptorCycles(static_cast<std::int64_t>(running.lanes.size()), config_.costs);
  } else {
    cost = CostOf(work.instruction, config_.costs);
    const auto* load = std::get_if<isa::RegisterLoad>(&work.instruction.body);
    if (load && load->src.memory == isa::Memory::kHbm)
      extra = config_.hbm_register_load;
  }
  free_at_ = Now() + config_.clock.Cycles(cost.occupancy) + extra;
  ledger_.Until(free_at_, TimeClass::kBusy);
  running.done_at = EvenUp(free_at_ + config_.clock.Cycles(cost.latency));
  running_.push_back(std::move(running));
}

void InOrderEngine::ScheduleNext() {
  Tick next = running_.empty() ? kNever : running_.front().done_at;
  if (!queue_.empty())
    next = std::min(next, StartTime(*queue_.front()));
  if (next != kNever)
    alarm_.At(next);
}

void InOrderEngine::Met(Work& work, Tick at) {
  Check(&work == in_barrier_, "the exchange releases the barrier the engine stands in");
  running_.push_back({.work = &work, .done_at = std::max(at, Now())});
  alarm_.At(running_.front().done_at);
}

void InOrderEngine::Exchanged(Work&, Tick) {
  Check(false, "an engine takes no part in a sendrecv");
}

}  // namespace bwmm::units
