#include "model/units/exchange.h"

#include <algorithm>

#include "model/support/sim_error.h"

namespace bwmm::units {
namespace {

constexpr int kAllCores = -1;

bool IsBarrier(const Work& work) {
  return std::holds_alternative<isa::CoreBarrier>(work.instruction.body);
}

}  // namespace

Exchange::Exchange(sc_core::sc_module_name name, const Config& config, RunState& run,
                   std::vector<ops::CoreMemory*> memories, const ops::Observers& observers)
    : sc_module(name),
      gpsimd("gpsimd", config.cores),
      dma("dma", config.cores),
      config_(config),
      run_(run),
      memories_(std::move(memories)),
      observers_(observers) {}

Exchange::Key Exchange::KeyOf(const Work& work) {
  if (IsBarrier(work))
    return {kAllCores, kAllCores, 0, work.meeting};
  const auto& exchange = std::get<isa::SendRecv>(work.instruction.body);
  const auto [low, high] = std::minmax(work.instruction.core, exchange.peer);
  return {low, high, exchange.pipe_id, work.meeting};
}

int Exchange::PartiesOf(const Work& work) const {
  return IsBarrier(work) ? config_.cores : 2;
}

void Exchange::Arrive(Work& work) {
  const Key key = KeyOf(work);
  const bool barrier = IsBarrier(work);
  if (!barrier && config_.cores < 2)
    throw SimError("instruction {} core {}: sendrecv needs 2 cores, the machine has {}",
                   work.instruction.id, work.instruction.core, config_.cores);
  Meeting& meeting = meetings_[key];
  meeting.works.push_back(&work);
  if (std::ssize(meeting.works) < PartiesOf(work))
    return;
  std::ranges::sort(meeting.works, {}, [](const Work* each) { return each->instruction.core; });
  const Tick at = Now() + (barrier ? config_.barrier : config_.sendrecv);
  const std::vector<Work*> all = meeting.works;
  TellMet(all);
  if (barrier)
    meetings_.erase(key);
  for (Work* each : all)
    (barrier ? gpsimd : dma)[each->instruction.core]->Met(*each, at);
}

// Each waits for all others.
void Exchange::TellMet(const std::vector<Work*>& works) const {
  if (!observers_.Want(ops::Event::kDependsOn))
    return;
  for (const Work* waits : works) {
    for (const Work* on : works) {
      if (on == waits)
        continue;
      observers_.Tell(ops::Event::kDependsOn, [&](ops::Observer& observer) {
        observer.DependsOn({.core = waits->instruction.core,
                            .id = waits->instruction.id,
                            .on_core = on->instruction.core,
                            .on = on->instruction.id,
                            .cause = ops::Cause::kMeeting,
                            .at = EvenPhase()});
      });
    }
  }
}

void Exchange::Sent(Work& work) {
  const auto found = meetings_.find(KeyOf(work));
  if (++found->second.sent < PartiesOf(work))
    return;
  const std::vector<Work*> both = found->second.works;
  meetings_.erase(found);
  run_.Doing(both[0]->instruction);
  for (const int from : {0, 1}) {
    const isa::Instruction& sender = both[from]->instruction;
    const isa::Instruction& taker = both[1 - from]->instruction;
    const auto& out = std::get<isa::SendRecv>(sender.body);
    // Timing fidelity moves indices only.
    if (memories_[sender.core]->control_only && out.src.dtype != DType::kInt32)
      continue;
    ops::CopyAcross(out.src, *memories_[sender.core], std::get<isa::SendRecv>(taker.body).dst,
                    *memories_[taker.core]);
  }
  for (Work* each : both)
    dma[each->instruction.core]->Exchanged(*each, Now());
}

std::vector<int> Exchange::AbsentFrom(const Work& work) const {
  if (!isa::IsMeeting(work.instruction.body))
    return {};
  const auto found = meetings_.find(KeyOf(work));
  if (found == meetings_.end())
    return {};
  const std::vector<Work*>& there = found->second.works;
  if (std::ranges::find(there, &work) == there.end())
    return {};
  std::vector<int> absent;
  for (int core = 0; core < config_.cores; ++core) {
    const bool awaited = IsBarrier(work) || core == work.instruction.core ||
                         core == std::get<isa::SendRecv>(work.instruction.body).peer;
    if (awaited && std::ranges::none_of(
                       there, [core](const Work* each) { return each->instruction.core == core; }))
      absent.push_back(core);
  }
  return absent;
}

}  // namespace bwmm::units
