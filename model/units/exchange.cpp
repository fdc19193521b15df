#include "model/units/exchange.h"

#include "model/support/sim_error.h"

namespace bwmm::units {
namespace {

constexpr std::int64_t kBarrierPipe = -1;

}  // namespace

Exchange::Exchange(sc_core::sc_module_name name, const Config& config, RunState& run,
                   std::vector<ops::CoreMemory*> memories)
    : sc_module(name),
      gpsimd("gpsimd", config.cores),
      dma("dma", config.cores),
      config_(config),
      run_(run),
      memories_(std::move(memories)) {}

Exchange::Key Exchange::KeyOf(const Work& work) {
  const auto* exchange = std::get_if<isa::SendRecv>(&work.instruction.body);
  return {exchange ? exchange->pipe_id : kBarrierPipe, work.meeting};
}

void Exchange::Arrive(Work& work) {
  const Key key = KeyOf(work);
  const bool barrier = key.first == kBarrierPipe;
  Meeting& meeting = meetings_[key];
  meeting.works[work.instruction.core] = &work;
  ++meeting.arrived;
  if (!barrier && config_.cores < 2)
    throw SimError("instruction {} core {}: sendrecv needs 2 cores, the machine has {}",
                   work.instruction.id, work.instruction.core, config_.cores);
  if (meeting.arrived < config_.cores)
    return;
  const Tick at = Now() + (barrier ? config_.barrier : config_.sendrecv);
  const Meeting both = meeting;
  if (barrier)
    meetings_.erase(key);
  for (int core = 0; core < config_.cores; ++core)
    (barrier ? gpsimd : dma)[core]->Met(*both.works[core], at);
}

void Exchange::Sent(Work& work) {
  const auto found = meetings_.find(KeyOf(work));
  if (++found->second.sent < config_.cores)
    return;
  const Meeting both = found->second;
  meetings_.erase(found);
  run_.Doing(both.works[0]->instruction);
  for (const int from : {0, 1}) {
    const auto& out = std::get<isa::SendRecv>(both.works[from]->instruction.body);
    const auto& in = std::get<isa::SendRecv>(both.works[1 - from]->instruction.body);
    // Timing fidelity moves indices only.
    if (memories_[from]->control_only && out.src.dtype != DType::kInt32)
      continue;
    ops::CopyAcross(out.src, *memories_[from], in.dst, *memories_[1 - from]);
  }
  for (int core = 0; core < config_.cores; ++core)
    dma[core]->Exchanged(*both.works[core], Now());
}

bool Exchange::WaitsForPeer(const Work& work) const {
  const auto found = meetings_.find(KeyOf(work));
  return found != meetings_.end() && found->second.works[work.instruction.core] == &work &&
         found->second.arrived < config_.cores;
}

}  // namespace bwmm::units
