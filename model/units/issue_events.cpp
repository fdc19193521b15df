// What the issue stage tells observers.
#include <string_view>

#include "model/units/issue_stage.h"

namespace bwmm::units {
namespace {

using ops::Event;
using ops::Observer;

ops::Cause CauseOf(isa::Hazard hazard) {
  switch (hazard) {
    case isa::Hazard::kReadAfterWrite:
      return ops::Cause::kReadAfterWrite;
    case isa::Hazard::kWriteAfterRead:
      return ops::Cause::kWriteAfterRead;
    case isa::Hazard::kWriteAfterWrite:
      break;
  }
  return ops::Cause::kWriteAfterWrite;
}

std::string_view QueueOf(Unit unit) {
  constexpr std::array<std::string_view, kUnits> kQueues = {
      "tensor.queue", "vector.queue", "scalar.queue", "gpsimd.queue", "sync.queue", "dma.queue"};
  return kQueues[static_cast<int>(unit)];
}

}  // namespace

void IssueStage::TellEmitted(const Work& work) {
  observers_.Tell(Event::kEmitted, [&](Observer& observer) {
    observer.Emitted({work.instruction, work.unit, work.emitted_at});
  });
  if (!register_read_)
    return;
  observers_.Tell(Event::kDependsOn, [&](Observer& observer) {
    observer.DependsOn({.core = config_.core,
                        .id = work.instruction.id,
                        .on_core = config_.core,
                        .on = *register_read_,
                        .cause = ops::Cause::kRegister,
                        .at = work.emitted_at});
  });
  register_read_.reset();
}

void IssueStage::TellDependence(const Work& work, const Work& on,
                                const isa::Dependency& dependency) {
  observers_.Tell(Event::kDependsOn, [&](Observer& observer) {
    observer.DependsOn({.core = config_.core,
                        .id = work.instruction.id,
                        .on_core = config_.core,
                        .on = on.instruction.id,
                        .cause = CauseOf(dependency.hazard),
                        .gate = dependency.gate,
                        .semaphore = CrossesUnits(on, work, dependency.gate),
                        .at = work.emitted_at});
  });
}

void IssueStage::TellCount(std::string_view name, std::int64_t value) {
  observers_.Tell(Event::kCounted, [&](Observer& observer) {
    observer.Counted({config_.core, name, value, EvenPhase()});
  });
}

void IssueStage::TellQueue(Unit unit, int change) {
  if (!observers_.Want(Event::kCounted))
    return;
  TellCount(QueueOf(unit), queued_[static_cast<int>(unit)] += change);
}

void IssueStage::Started(const Work& work) {
  observers_.Tell(Event::kStarted, [&](Observer& observer) {
    observer.Started({work.instruction, work.unit, work.stall, EvenPhase()});
  });
  TellQueue(work.unit, -1);
}

void IssueStage::DescriptorsStarted(const Work& work) {
  observers_.Tell(Event::kStarted, [&](Observer& observer) {
    observer.DescriptorsStarted({work.instruction, Unit::kGpSimd, work.stall, EvenPhase()});
  });
}

void IssueStage::PartMoved(const Work& work, const DmaPart& part, Tick until) {
  observers_.Tell(Event::kPartMoved, [&](Observer& observer) {
    observer.PartMoved({.core = config_.core,
                        .id = work.instruction.id,
                        .engine = part.engine,
                        .bytes = part.bytes,
                        .descriptors = part.descriptors,
                        .hbm_read = part.hbm_read,
                        .hbm_write = part.hbm_write,
                        .from = EvenPhase(),
                        .to = until});
  });
}

void IssueStage::Observe(const Work& work) {
  if (hooks_.observed)
    hooks_.observed(work.instruction);
  observers_.Tell(Event::kReading, [&](Observer& observer) {
    observer.ReadsOperands({work.instruction, ops::MemoryView(memory_), Now()});
  });
}

}  // namespace bwmm::units
