#include "model/units/dma_unit.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/support/check.h"

namespace bwmm::units {

DmaUnit::DmaUnit(sc_core::sc_module_name name, const Config& config, const TimeBase& time,
                 RunState& run, PhaseArbiter& arbiter, ops::CoreMemory& memory)
    : sc_module(name),
      config_(config),
      time_(time),
      run_(run),
      arbiter_(arbiter),
      memory_(memory),
      ready_(config.dge_instances),
      generator_free_at_(config.dge_instances, 0),
      engines_(config.shape.engines) {
  arbiter_.Add(config_.core, [this](Tick tick) { Grant(tick); });
  SC_HAS_PROCESS(DmaUnit);
  SC_METHOD(FinishDue);
  sensitive << alarm_.event();
  dont_initialize();
}

void DmaUnit::Accept(Work& work) {
  transfers_.emplace(&work, Transfer{.work = &work});
}

void DmaUnit::GateOpened(Work& work, Gate gate) {
  Transfer& transfer = transfers_.at(&work);
  const Tick open = EvenUp(work.OpenAt(gate));
  if (!work.software_descriptors) {
    const bool sends = std::holds_alternative<isa::SendRecv>(work.instruction.body);
    // Two sequencers have a generator; who has none is served by Sync's.
    const std::size_t generator =
        work.instruction.engine == isa::Engine::kScalar ? ready_.size() - 1 : 0;
    (sends ? for_peer_ : ready_[generator]).emplace(open, work.instruction.id, &transfer);
    arbiter_.RequestAt(config_.core, open);
  } else if (transfer.descriptors_at != kNever) {
    ScheduleArrival(transfer, open + config_.start);
  }
}

void DmaUnit::DescriptorsWritten(Work& work, std::vector<int> lanes) {
  Transfer& transfer = transfers_.at(&work);
  transfer.lanes = std::move(lanes);
  transfer.descriptors_at = Now();
  const Tick open = work.OpenAt(Gate::kData);
  if (open != kNever)
    ScheduleArrival(transfer, EvenUp(std::max(open, Now())) + config_.start);
}

void DmaUnit::ScheduleArrival(Transfer& transfer, Tick at) {
  if (transfer.work->software_descriptors)
    transfer.work->start = at - config_.start;
  arrivals_.emplace(at, transfer.work->instruction.id, &transfer);
  arbiter_.RequestAt(config_.core, at);
}

void DmaUnit::Grant(Tick now) {
  GrantGenerators(now);
  while (!arrivals_.empty() && std::get<Tick>(arrivals_.top()) <= now) {
    Transfer& transfer = *std::get<Transfer*>(arrivals_.top());
    arrivals_.pop();
    Arrive(transfer, now);
  }
  for (Engine& engine : engines_) {
    // A turn of a part whose cost rounds to nothing leaves the engine free.
    while (engine.free_at <= now && StartTurn(engine, now)) {
    }
  }
}

void DmaUnit::GrantGenerators(Tick now) {
  while (!for_peer_.empty() && std::get<Tick>(for_peer_.top()) <= now) {
    Work& work = *std::get<Transfer*>(for_peer_.top())->work;
    for_peer_.pop();
    work.start = now;
    meeting->Arrive(work);
  }
  for (std::size_t g = 0; g < ready_.size(); ++g) {
    while (!ready_[g].empty() && std::get<Tick>(ready_[g].top()) <= now) {
      if (generator_free_at_[g] > now) {
        arbiter_.RequestAt(config_.core, generator_free_at_[g]);
        break;
      }
      Transfer& transfer = *std::get<Transfer*>(ready_[g].top());
      ready_[g].pop();
      transfer.work->start = now;
      generator_free_at_[g] = now + config_.dge;
      ScheduleArrival(transfer, generator_free_at_[g] + config_.start);
    }
  }
}

// A sequencer has three rings: what it loads from HBM, what it stores there, and the rest.
DmaUnit::Place DmaUnit::PlaceOf(const isa::Instruction& instruction) const {
  constexpr int kRings = 3;
  int ring = 2;
  Place place;
  if (const auto* copy = std::get_if<isa::DmaCopy>(&instruction.body)) {
    if (copy->src.memory == isa::Memory::kHbm)
      ring = 0;
    else if (copy->dst.memory == isa::Memory::kHbm)
      ring = 1;
    if (copy->gather || copy->scatter)
      place.service_class = config_.gather_class;
  }
  place.queue = (static_cast<int>(instruction.engine) * kRings + ring) % config_.queues;
  return place;
}

void DmaUnit::Arrive(Transfer& transfer, Tick now) {
  run_.Doing(transfer.work->instruction);
  ++stats_.transfers;
  transfer.end = now + config_.completion;
  const auto* copy = std::get_if<isa::DmaCopy>(&transfer.work->instruction.body);
  if (copy != nullptr && ops::IsSkipped(*copy, memory_)) {
    TellStarted(transfer);
    ScheduleEnd(transfer);
    return;
  }
  const bool sends = std::holds_alternative<isa::SendRecv>(transfer.work->instruction.body);
  const Place place = PlaceOf(transfer.work->instruction);
  std::int64_t before = 0;  // engines that start before
  for (const DmaPart& part :
       PlanTransfer(transfer.work->instruction, transfer.lanes, config_.shape)) {
    stats_.hbm_read += part.hbm_read;
    stats_.hbm_write += part.hbm_write;
    stats_.descriptors += part.descriptors;
    if (sends)
      stats_.sendrecv += part.bytes;
    Tick ready_at = now + time_.FromNs(before++ * config_.skew_ns);
    const std::int64_t turns = TurnsOf(part, config_.turn_bytes);
    transfer.turns_left += static_cast<int>(turns);
    Engine& engine = engines_[part.engine];
    // Behind what stands in its queue.
    for (const QueuedPart& other : engine.waiting) {
      if (other.place == place)
        ready_at = std::max(ready_at, other.ready_at);
    }
    engine.waiting.push_back({.transfer = &transfer,
                              .part = part,
                              .place = place,
                              .ready_at = ready_at,
                              .turns = turns});
    retire->PartsWaiting(++waiting_parts_);
    if (const Tick at = std::max(engine.free_at, ready_at); at > now)
      arbiter_.RequestAt(config_.core, at);
  }
  if (transfer.turns_left == 0) {
    TellStarted(transfer);
    ScheduleEnd(transfer);
  }
}

// With its first part, or on arrival when there is nothing to move.
void DmaUnit::TellStarted(Transfer& transfer) {
  if (!std::exchange(transfer.started, true))
    retire->Started(*transfer.work);
}

std::vector<DmaUnit::QueuedPart>::iterator DmaUnit::NextOf(Engine& engine, Tick now) {
  // The lowest class, and in it the next queue behind the one served last, round to the first.
  const auto rank = [&](const Place& place) {
    return std::make_tuple(place.service_class, place.queue <= engine.served, place.queue);
  };
  auto next = engine.waiting.end();
  for (auto i = engine.waiting.begin(); i != engine.waiting.end(); ++i) {
    if (i->ready_at <= now && (next == engine.waiting.end() || rank(i->place) < rank(next->place)))
      next = i;
  }
  return next;
}

// False when no part may start.
bool DmaUnit::StartTurn(Engine& engine, Tick now) {
  const auto next = NextOf(engine, now);
  if (next == engine.waiting.end())
    return false;
  QueuedPart& queued = *next;
  engine.served = queued.place.queue;
  Transfer& transfer = *queued.transfer;
  const DmaPart turn = TurnOf(queued.part, queued.turn, queued.turns);
  // From the part's first byte on, so that its turns take as long as the part.
  const auto until = [&](std::int64_t turns) {
    const DmaPart& part = queued.part;
    return time_.FromBytes(part.bytes * turns / queued.turns +
                               part.descriptors * turns / queued.turns * config_.descriptor_bytes,
                           config_.engine_mb_s);
  };
  engine.free_at = now + until(queued.turn + 1) - until(queued.turn);
  if (turn.hbm_read > 0)
    engine.free_at = std::max(engine.free_at, MoveThroughHbm(*transfer.work, tlm::TLM_READ_COMMAND,
                                                             turn.read_address, turn.hbm_read));
  if (turn.hbm_write > 0)
    engine.free_at = std::max(engine.free_at, MoveThroughHbm(*transfer.work, tlm::TLM_WRITE_COMMAND,
                                                             turn.write_address, turn.hbm_write));
  stats_.engine_ticks += engine.free_at - now;
  const TimeClass stall = ledger_.Gap(now, ObstaclesOf(transfer));
  if (transfer.work->stall == TimeClass::kBusy)
    transfer.work->stall = stall;
  TellStarted(transfer);
  retire->PartMoved(*transfer.work, turn, engine.free_at);
  ledger_.Until(engine.free_at, TimeClass::kBusy);
  const bool uses_hbm = turn.hbm_read > 0 || turn.hbm_write > 0;
  transfer.end = std::max(
      transfer.end, engine.free_at + config_.completion + (uses_hbm ? config_.hbm_latency : 0));
  if (--transfer.turns_left == 0)
    ScheduleEnd(transfer);
  if (++queued.turn == queued.turns) {
    retire->PartsWaiting(--waiting_parts_);
    engine.waiting.erase(next);
  }
  if (!engine.waiting.empty())
    arbiter_.RequestAt(config_.core, engine.free_at);
  return true;
}

// When HBM has moved the bytes.
Tick DmaUnit::MoveThroughHbm(Work& work, tlm::tlm_command command, std::uint64_t address,
                             std::int64_t bytes) {
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_length(static_cast<unsigned>(bytes));
  payload.set_streaming_width(static_cast<unsigned>(bytes));
  payload.set_data_ptr(nullptr);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  hbm_socket->b_transport(payload, delay);
  if (!payload.is_response_ok()) {
    // Completed, the access is refused in the executor's words. Without checkers and data nobody
    // looks at it.
    retire->Complete(work);
    const isa::Instruction& instruction = work.instruction;
    throw SimError(
        "instruction {} ({}) on core {}: {} bytes at HBM address {:#x}, beyond the stack's "
        "capacity",
        instruction.id, isa::OpcodeOf(instruction), instruction.core, bytes, address);
  }
  return EvenUp(EvenPhase() + delay.value());
}

// The obstacle of a gather or scatter is whichever came last: its data or its descriptors.
Obstacles DmaUnit::ObstaclesOf(const Transfer& transfer) const {
  const Work& work = *transfer.work;
  if (!work.software_descriptors)
    return work.obstacles(Gate::kStart);
  Obstacles obstacles = work.obstacles(Gate::kData);
  if (transfer.descriptors_at > obstacles.open_at) {
    obstacles.open_at = transfer.descriptors_at;
    obstacles.cause = TimeClass::kGpSimd;
  }
  return obstacles;
}

void DmaUnit::ScheduleEnd(Transfer& transfer) {
  ends_.emplace(EvenUp(std::max(transfer.end, Now())), transfer.work->instruction.id, &transfer);
  alarm_.At(std::get<Tick>(ends_.top()));
}

void DmaUnit::FinishDue() {
  run_.Guard(*this, [&] {
    while (!ends_.empty() && std::get<Tick>(ends_.top()) <= Now()) {
      Transfer& transfer = *std::get<Transfer*>(ends_.top());
      ends_.pop();
      Finish(transfer);
    }
    if (!ends_.empty())
      alarm_.At(std::get<Tick>(ends_.top()));
  });
}

void DmaUnit::Finish(Transfer& transfer) {
  Work& work = *transfer.work;
  if (std::holds_alternative<isa::SendRecv>(work.instruction.body)) {
    meeting->Sent(work);
    return;
  }
  transfers_.erase(&work);
  retire->Complete(work);
}

void DmaUnit::Met(Work& work, Tick at) {
  ScheduleArrival(transfers_.at(&work), EvenUp(at));
}

void DmaUnit::Exchanged(Work& work, Tick) {
  transfers_.erase(&work);
  retire->Complete(work);
}

}  // namespace bwmm::units
