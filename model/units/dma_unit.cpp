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
    ready_.emplace(open, work.instruction.id, &transfer);
    arbiter_.RequestAt(config_.core, open);
  } else if (transfer.descriptors_at != kNever) {
    ScheduleArrival(transfer, open + config_.start);
  }
}

void DmaUnit::DescriptorsWritten(Work& work, std::int64_t rows_moved) {
  Transfer& transfer = transfers_.at(&work);
  transfer.rows_moved = rows_moved;
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
    if (!engine.fifo.empty() && engine.free_at <= now)
      StartPart(engine, now);
  }
}

void DmaUnit::GrantGenerators(Tick now) {
  while (!ready_.empty() && std::get<Tick>(ready_.top()) <= now) {
    Transfer& transfer = *std::get<Transfer*>(ready_.top());
    if (std::holds_alternative<isa::SendRecv>(transfer.work->instruction.body)) {
      ready_.pop();
      transfer.work->start = now;
      meeting->Arrive(*transfer.work);
      continue;
    }
    const auto free = std::min_element(generator_free_at_.begin(), generator_free_at_.end());
    if (*free > now) {
      arbiter_.RequestAt(config_.core, *free);
      return;
    }
    ready_.pop();
    transfer.work->start = now;
    *free = now + config_.dge;
    ScheduleArrival(transfer, *free + config_.start);
  }
}

void DmaUnit::Arrive(Transfer& transfer, Tick now) {
  run_.Doing(transfer.work->instruction);
  ++stats_.transfers;
  transfer.end = now;
  const auto* copy = std::get_if<isa::DmaCopy>(&transfer.work->instruction.body);
  if (copy != nullptr && ops::IsSkipped(*copy, memory_)) {
    TellStarted(transfer);
    ScheduleEnd(transfer);
    return;
  }
  const bool sends = std::holds_alternative<isa::SendRecv>(transfer.work->instruction.body);
  for (const DmaPart& part :
       PlanTransfer(transfer.work->instruction, transfer.rows_moved, config_.shape)) {
    ++transfer.parts_left;
    stats_.hbm_read += part.hbm_read;
    stats_.hbm_write += part.hbm_write;
    stats_.descriptors += part.descriptors;
    if (sends)
      stats_.sendrecv += part.bytes;
    Engine& engine = engines_[part.engine];
    engine.fifo.push_back({&transfer, part});
    retire->PartsWaiting(++waiting_parts_);
    if (engine.fifo.size() == 1 && engine.free_at > now)
      arbiter_.RequestAt(config_.core, engine.free_at);
  }
  if (transfer.parts_left == 0) {
    TellStarted(transfer);
    ScheduleEnd(transfer);
  }
}

// With its first part, or on arrival when there is nothing to move.
void DmaUnit::TellStarted(Transfer& transfer) {
  if (!std::exchange(transfer.started, true))
    retire->Started(*transfer.work);
}

void DmaUnit::StartPart(Engine& engine, Tick now) {
  const QueuedPart queued = engine.fifo.front();
  engine.fifo.pop_front();
  retire->PartsWaiting(--waiting_parts_);
  const DmaPart& part = queued.part;
  Transfer& transfer = *queued.transfer;
  const std::int64_t bytes = part.bytes + part.descriptors * config_.descriptor_bytes;
  engine.free_at = now + time_.FromBytes(bytes, config_.engine_mb_s);
  if (part.hbm_read > 0)
    engine.free_at = std::max(engine.free_at, MoveThroughHbm(*transfer.work, tlm::TLM_READ_COMMAND,
                                                             part.read_address, part.hbm_read));
  if (part.hbm_write > 0)
    engine.free_at = std::max(engine.free_at, MoveThroughHbm(*transfer.work, tlm::TLM_WRITE_COMMAND,
                                                             part.write_address, part.hbm_write));
  stats_.engine_ticks += engine.free_at - now;
  const TimeClass stall = ledger_.Gap(now, ObstaclesOf(transfer));
  if (transfer.work->stall == TimeClass::kBusy)
    transfer.work->stall = stall;
  TellStarted(transfer);
  retire->PartMoved(*transfer.work, part, engine.free_at);
  ledger_.Until(engine.free_at, TimeClass::kBusy);
  const bool uses_hbm = part.hbm_read > 0 || part.hbm_write > 0;
  transfer.end = std::max(transfer.end, engine.free_at + (uses_hbm ? config_.hbm_latency : 0));
  if (--transfer.parts_left == 0)
    ScheduleEnd(transfer);
  if (!engine.fifo.empty())
    arbiter_.RequestAt(config_.core, engine.free_at);
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
