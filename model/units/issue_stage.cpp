#include "model/units/issue_stage.h"

#include <algorithm>
#include <utility>

#include "model/support/check.h"
#include "model/support/interrupt.h"

namespace bwmm::units {
namespace {

constexpr std::size_t kKernelStackBytes = 4 << 20;

}  // namespace

IssueStage::IssueStage(sc_core::sc_module_name name, const Config& config, RunState& run,
                       ops::CoreMemory& memory, std::function<void(isa::Sink&)> kernel, Hooks hooks,
                       const ops::Observers& observers)
    : sc_module(name),
      config_(config),
      run_(run),
      memory_(memory),
      kernel_(std::move(kernel)),
      hooks_(std::move(hooks)),
      observers_(observers),
      check_(config.limits) {
  SC_HAS_PROCESS(IssueStage);
  SC_THREAD(RunKernel);
  set_stack_size(kKernelStackBytes);
}

void IssueStage::RunKernel() {
  stack_.Begin(kKernelStackBytes);
  try {
    kernel_(*this);
    kernel_done_ = true;
  } catch (const Unwind&) {
  } catch (const sc_core::sc_unwind_exception&) {
    throw;
  } catch (...) {
    run_.Doing(config_.core, next_);
    run_.Fail(std::current_exception());
  }
}

void IssueStage::WaitForChange() {
  if (run_.failed())
    throw Unwind{};
  wait(kernel_wake_ | run_.abort_event());
  stack_.Resume();
  if (run_.failed())
    throw Unwind{};
}

std::uint32_t IssueStage::Emit(isa::Engine engine, isa::Body body) {
  ThrowIfInterrupted();
  if (run_.failed())
    throw Unwind{};
  window_full_ = in_flight_ >= config_.window;
  while (window_full_)
    WaitForChange();
  while (!window_.empty() && Visible(window_.front())) {
    window_.pop_front();
    ++oldest_;
  }
  hazards_.Forget(oldest_);

  Work& work = window_.emplace_back();
  work.instruction = {next_++, config_.core, engine, std::move(body)};
  check_.Add(work.instruction);
  work.unit = isa::UnitOf(work.instruction);
  work.emitted_at = Now();
  work.software_descriptors = isa::HasSoftwareDescriptors(work.instruction);
  if (const auto* exchange = std::get_if<isa::SendRecv>(&work.instruction.body))
    work.meeting = pipe_uses_[{exchange->peer, exchange->pipe_id}]++;
  if (std::holds_alternative<isa::CoreBarrier>(work.instruction.body))
    work.meeting = barriers_++;
  if (std::holds_alternative<isa::RegisterLoad>(work.instruction.body))
    registers_.emplace(work.instruction.id, std::nullopt);

  for (GateState& gate : work.gates)
    gate.open_at = work.emitted_at;
  dependencies_.clear();
  std::vector<isa::Access> accesses = isa::AccessesOf(work.instruction);
  hazards_.Add(work.instruction.id, work.unit,
               std::holds_alternative<isa::LoadStationary>(work.instruction.body), accesses,
               work.software_descriptors ? Gate::kData : Gate::kStart, dependencies_);
  if (hooks_.emitted)
    hooks_.emitted(work.instruction, std::move(accesses));
  TellEmitted(work);
  for (const isa::Dependency& dependency : dependencies_)
    Depend(work, dependency);

  ++in_flight_;
  ++stats_.emitted;
  ++stats_.per_unit[static_cast<int>(work.unit)];
  TellQueue(work.unit, 1);
  TellCount("in_flight", in_flight_);
  Route(work);
  return work.instruction.id;
}

void IssueStage::Route(Work& work) {
  if (work.software_descriptors)
    dma->Accept(work);
  PortOf(work, Gate::kStart).Accept(work);
  if (work.gate(Gate::kStart).waiting == 0)
    PortOf(work, Gate::kStart).GateOpened(work, Gate::kStart);
  if (work.software_descriptors && work.gate(Gate::kData).waiting == 0)
    PortOf(work, Gate::kData).GateOpened(work, Gate::kData);
}

WorkIf& IssueStage::PortOf(const Work& work, Gate gate) {
  if (work.software_descriptors)
    return gate == Gate::kStart ? *gpsimd[0] : *dma[0];
  switch (work.unit) {
    case Unit::kTensor:
      return *tensor[0];
    case Unit::kVector:
      return *vector[0];
    case Unit::kScalar:
      return *scalar[0];
    case Unit::kGpSimd:
      return *gpsimd[0];
    case Unit::kSync:
      return *sync[0];
    case Unit::kDma:
      break;
  }
  return *dma[0];
}

void IssueStage::Depend(Work& work, const isa::Dependency& dependency) {
  if (dependency.id < oldest_)
    return;
  Work& earlier = window_[dependency.id - oldest_];
  TellDependence(work, earlier, dependency);
  const Dependent dependent{&work, dependency.gate, dependency.until_read};
  ++work.gate(dependency.gate).waiting;
  if (earlier.completed || (dependency.until_read && earlier.read_done)) {
    Meet(earlier, dependent, dependency.until_read ? earlier.read_done_at : earlier.completed_at);
    return;
  }
  earlier.dependents.push_back(dependent);
}

void IssueStage::Meet(Work& earlier, const Dependent& dependent, Tick when) {
  Work& work = *dependent.work;
  GateState& gate = work.gate(dependent.gate);
  const Tick visible =
      CrossesUnits(earlier, work, dependent.gate) ? when + config_.semaphore : when;
  const bool meeting = isa::IsMeeting(earlier.instruction.body);
  gate.Open(visible, meeting ? TimeClass::kPeer : WaitFor(earlier.unit));
  --gate.waiting;
}

bool IssueStage::Visible(const Work& work) const {
  return work.completed && work.completed_at + config_.semaphore < Now();
}

void IssueStage::ReadDone(Work& work) {
  work.read_done = true;
  work.read_done_at = Now();
  auto& dependents = work.dependents;
  for (std::size_t i = 0; i < dependents.size();) {
    if (!dependents[i].until_read) {
      ++i;
      continue;
    }
    const Dependent met = dependents[i];
    dependents[i] = dependents.back();
    dependents.pop_back();
    Meet(work, met, work.read_done_at);
    if (met.work->gate(met.gate).waiting == 0)
      PortOf(*met.work, met.gate).GateOpened(*met.work, met.gate);
  }
}

void IssueStage::Complete(Work& work) {
  run_.Doing(work.instruction);
  Check(!work.completed, "an instruction completes once");
  const bool meeting = isa::IsMeeting(work.instruction.body);
  if (work.unit != Unit::kTensor) {
    Observe(work);
    if (const auto* load = std::get_if<isa::RegisterLoad>(&work.instruction.body)) {
      registers_[work.instruction.id] = ops::ReadInt32(load->src, memory_);
      kernel_wake_.notify(sc_core::SC_ZERO_TIME);
    } else if (!meeting) {
      ops::Execute(work.instruction, memory_);
    }
  }
  work.completed = true;
  work.completed_at = last_completion_ = Now();
  if (!work.read_done) {
    work.read_done = true;
    work.read_done_at = work.completed_at;
  }
  ++stats_.completed;
  --in_flight_;
  if (window_full_ && in_flight_ <= config_.window * 3 / 4) {
    window_full_ = false;
    kernel_wake_.notify(sc_core::SC_ZERO_TIME);
  }
  observers_.Tell(ops::Event::kCompleted, [&](ops::Observer& observer) {
    observer.Completed({.instruction = work.instruction,
                        .unit = work.unit,
                        .stall = work.stall,
                        .start = work.start,
                        .at = work.completed_at,
                        .memory = ops::MemoryView(memory_)});
  });
  TellCount("in_flight", in_flight_);
  const std::vector<Dependent> dependents = std::exchange(work.dependents, {});
  for (const Dependent& dependent : dependents) {
    Meet(work, dependent, work.completed_at);
    if (dependent.work->gate(dependent.gate).waiting == 0)
      PortOf(*dependent.work, dependent.gate).GateOpened(*dependent.work, dependent.gate);
  }
}

std::int32_t IssueStage::RegisterValue(std::uint32_t register_load_id) {
  check_.ReadRegister(config_.core, register_load_id);
  const auto found = registers_.find(register_load_id);
  if (hooks_.register_read)
    hooks_.register_read(register_load_id);
  waits_for_register_ = register_load_id;
  while (!found->second)
    WaitForChange();
  waits_for_register_.reset();
  register_read_ = register_load_id;
  return *found->second;
}

void IssueStage::Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                           const std::string& name) {
  if (hooks_.allocated)
    hooks_.allocated(memory, begin, bytes, name);
  observers_.Tell(ops::Event::kAllocated, [&](ops::Observer& observer) {
    observer.Allocated({config_.core, memory, begin, bytes, name, next_, Now()});
  });
}

void IssueStage::Freed(isa::Memory memory, std::uint64_t begin) {
  if (hooks_.freed)
    hooks_.freed(memory, begin, next_);
  observers_.Tell(ops::Event::kAllocated, [&](ops::Observer& observer) {
    observer.Freed(
        {.core = config_.core, .memory = memory, .begin = begin, .position = next_, .at = Now()});
  });
}

std::string IssueStage::KernelState() const {
  if (waits_for_register_)
    return fmt::format("waits for the register of instruction {}", *waits_for_register_);
  if (kernel_done_)
    return "has emitted all its instructions";
  return fmt::format("waits for room among {} instructions in flight", config_.window);
}

}  // namespace bwmm::units
