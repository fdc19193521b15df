#include "model/ops/executor.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/isa/access.h"
#include "model/isa/meeting_order.h"
#include "model/isa/program_check.h"
#include "model/isa/unit.h"
#include "model/ops/execute.h"
#include "model/ops/matmul.h"
#include "model/ops/matmul_mx.h"
#include "model/ops/memory_check.h"
#include "model/ops/observers.h"
#include "model/ops/pe_operands.h"
#include "model/ops/psum_array.h"
#include "model/ops/quantize_mx.h"
#include "model/ops/race_check.h"
#include "model/support/check.h"
#include "model/support/float_environment.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {
namespace {

// Thrown in the thread of a core when another one failed.
struct Stopped {};

class Executor;

class Core final : public isa::Sink {
 public:
  Core(Executor& executor, int id, const isa::Limits& limits, Hbm& hbm, bool checked,
       const Observers& observers)
      : executor_(executor),
        observers_(observers),
        id_(id),
        limits_(limits),
        sbuf_(limits.partitions, limits.sbuf_bytes),
        psum_(static_cast<int>(limits.psum_banks * limits.psum_bank_bytes / 4)),
        memory_{.core = id, .sbuf = sbuf_, .psum = psum_, .hbm = hbm, .quantize = QuantizeMx},
        program_check_(limits) {
    if (checked)
      memory_check_.emplace(limits, memory_);
  }

  int core() const override { return id_; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(isa::Engine engine, isa::Body body) override;
  std::int32_t RegisterValue(std::uint32_t id) override;
  void Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                 const std::string& name) override {
    if (memory_check_)
      memory_check_->Allocated(memory, begin, bytes, name);
    observers_.Tell(Event::kAllocated, [&](Observer& observer) {
      observer.Allocated({id_, memory, begin, bytes, name, next_id_});
    });
  }
  void Freed(isa::Memory memory, std::uint64_t begin) override {
    if (memory_check_)
      memory_check_->Freed(memory, begin, next_id_);
    observers_.Tell(Event::kAllocated, [&](Observer& observer) {
      observer.Freed({.core = id_, .memory = memory, .begin = begin, .position = next_id_});
    });
  }

  CoreMemory& memory() { return memory_; }
  std::uint32_t emitted() const { return next_id_; }

 private:
  void Run(const isa::Instruction& instruction);
  void Multiply(const isa::MultiplyMoving& op);

  Executor& executor_;
  const Observers& observers_;
  int id_;
  isa::Limits limits_;
  Sbuf sbuf_;
  PsumArray psum_;
  CoreMemory memory_;
  isa::ProgramCheck program_check_;
  std::optional<MemoryChecker> memory_check_;
  std::uint32_t next_id_ = 0;
  std::unordered_map<std::uint32_t, std::int32_t> registers_;
  isa::LoadStationary stationary_;
  PeOperand stationary_data_;
};

// Runs one core at a time: a core keeps the baton until it waits for another one or ends.
class Executor {
 public:
  Executor(const isa::Limits& limits, Hbm& hbm, bool checked, const Observers& observers)
      : meetings_(limits.cores), done_(limits.cores), waiting_(limits.cores) {
    for (int c = 0; c < limits.cores; ++c)
      cores_.emplace_back(*this, c, limits, hbm, checked, observers);
    if (checked)
      races_.emplace(limits.cores, hbm);
  }

  ExecutorResult Run(const Program& program) {
    std::vector<std::thread> threads;
    for (int c = 0; c < cores(); ++c)
      threads.emplace_back([this, c, &program] { RunCore(c, program); });
    for (std::thread& thread : threads)
      thread.join();
    if (error_)
      std::rethrow_exception(error_);
    ExecutorResult result;
    for (const Core& core : cores_)
      result.instructions += core.emitted();
    return result;
  }

  // What concerns all cores; one of them runs at a time.
  void Admit(const isa::Instruction& instruction, CoreMemory& memory) {
    meetings_.Add(instruction);
    if (!races_)
      return;
    races_->Emitted(instruction, isa::AccessesOf(instruction));
    races_->Observe(instruction, memory);
  }
  void RegisterRead(int core, std::uint32_t id) {
    if (races_)
      races_->RegisterRead(core, id);
  }

  // Blocks until the others have come to the meeting; the last to arrive carries it out. One core
  // alone passes.
  void Meet(const isa::Instruction& mine) {
    std::unique_lock lock(mutex_);
    const int self = mine.core;
    waiting_[self] = &mine;
    if (TakesPlace(mine))
      return;
    PassBaton(self);
    changed_.wait(lock, [&] { return stopped_ || (baton_ == self && waiting_[self] == nullptr); });
    if (stopped_)
      throw Stopped{};
  }

 private:
  int cores() const { return static_cast<int>(cores_.size()); }

  void RunCore(int self, const Program& program) {
    try {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || baton_ == self; });
        if (stopped_)
          return;
      }
      program(cores_[self]);
      std::unique_lock lock(mutex_);
      done_[self] = true;
      PassBaton(self);
    } catch (const Stopped&) {
    } catch (...) {
      std::unique_lock lock(mutex_);
      if (!error_)
        error_ = std::current_exception();
      stopped_ = true;
      changed_.notify_all();
    }
  }

  // To the next core that can go on. When none can, those that wait do so for ever.
  void PassBaton(int from) {
    for (int step = 1; step <= cores(); ++step) {
      const int to = (from + step) % cores();
      if (done_[to] || waiting_[to] != nullptr)
        continue;
      baton_ = to;
      changed_.notify_all();
      return;
    }
    if (const auto alone = meetings_.Alone())
      throw SimError("{}", *alone);
  }

  // Ends the meeting when `mine` is the last to come. Those that meet have been found to match.
  bool TakesPlace(const isa::Instruction& mine) {
    const auto* exchange = std::get_if<isa::SendRecv>(&mine.body);
    if (exchange == nullptr) {
      const auto waits = [](const isa::Instruction* other) {
        return other != nullptr && std::holds_alternative<isa::CoreBarrier>(other->body);
      };
      if (!std::ranges::all_of(waiting_, waits))
        return false;
      std::ranges::fill(waiting_, nullptr);
      return true;
    }
    const isa::Instruction* other = waiting_[exchange->peer];
    const auto* theirs = other == nullptr ? nullptr : std::get_if<isa::SendRecv>(&other->body);
    if (theirs == nullptr || theirs->peer != mine.core)
      return false;
    CopyAcross(exchange->src, cores_[mine.core].memory(), theirs->dst,
               cores_[other->core].memory());
    CopyAcross(theirs->src, cores_[other->core].memory(), exchange->dst,
               cores_[mine.core].memory());
    waiting_[mine.core] = waiting_[other->core] = nullptr;
    return true;
  }

  isa::MeetingOrder meetings_;
  std::optional<RaceChecker> races_;
  std::deque<Core> cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int baton_ = 0;
  bool stopped_ = false;
  std::vector<bool> done_;
  std::vector<const isa::Instruction*> waiting_;  // the meeting a core stands at
  std::exception_ptr error_;
};

std::uint32_t Core::Emit(isa::Engine engine, isa::Body body) {
  ThrowIfInterrupted();
  const isa::Instruction instruction{
      .id = next_id_++, .core = id_, .engine = engine, .body = std::move(body)};
  program_check_.Add(instruction);
  executor_.Admit(instruction, memory_);
  const isa::Unit unit = isa::UnitOf(instruction);
  const MemoryView view(memory_);
  observers_.Tell(Event::kEmitted, [&](Observer& o) { o.Emitted({instruction, unit}); });
  observers_.Tell(Event::kReading, [&](Observer& o) { o.ReadsOperands({instruction, view}); });
  if (memory_check_)
    memory_check_->Observe(instruction, "in program order");
  Run(instruction);
  observers_.Tell(Event::kCompleted, [&](Observer& o) {
    o.Completed({.instruction = instruction, .unit = unit, .memory = view});
  });
  return instruction.id;
}

std::int32_t Core::RegisterValue(std::uint32_t id) {
  program_check_.ReadRegister(id_, id);
  executor_.RegisterRead(id_, id);
  return registers_.at(id);
}

void Core::Run(const isa::Instruction& instruction) {
  switch (isa::TraitsOf(instruction.body).owner) {
    case isa::Owner::kOps:
      return Execute(instruction, memory_);
    case isa::Owner::kMeeting:
      return executor_.Meet(instruction);
    case isa::Owner::kSequencer:
      registers_[instruction.id] =
          ReadInt32(std::get<isa::RegisterLoad>(instruction.body).src, memory_);
      return;
    case isa::Owner::kArray:
      break;
  }
  if (const auto* load = std::get_if<isa::LoadStationary>(&instruction.body)) {
    stationary_ = *load;
    stationary_data_ = GatherPeOperand(load->stationary, load->scale, sbuf_, load->mode);
  } else {
    Multiply(std::get<isa::MultiplyMoving>(instruction.body));
  }
}

void Core::Multiply(const isa::MultiplyMoving& op) {
  const int k = stationary_data_.rows;
  const int m = stationary_data_.columns;
  const int address = PsumAddressOf(op.dst);
  if (op.mode == PeMode::kTranspose) {
    psum_.WriteTransposed(address, op.dst.dtype, stationary_data_.data.data(), k, m);
    return;
  }
  const PeOperand moving = GatherPeOperand(op.moving, op.scale, sbuf_, op.mode);
  Check(moving.rows == k, "stationary and moving have the same partitions");
  std::vector<float> out(std::size_t{1} * moving.columns * m);
  if (op.mode == PeMode::kMx) {
    MatmulMx(stationary_.stationary.dtype, stationary_data_.data.data(),
             stationary_data_.scales.data(), op.moving.dtype, moving.data.data(),
             moving.scales.data(), k, m, moving.columns, out.data());
  } else if (op.mode == PeMode::kDoubleRow) {
    MatmulDoubleRow(stationary_.stationary.dtype, stationary_data_.data.data(), op.moving.dtype,
                    moving.data.data(), k, m, moving.columns, out.data());
  } else {
    Matmul({stationary_.stationary.dtype, stationary_.part}, stationary_data_.data.data(),
           {op.moving.dtype, op.part}, moving.data.data(), k, m, moving.columns, out.data());
  }
  psum_.Write(address, op.dst.dtype, op.accumulate, out.data(), moving.columns, m);
}

}  // namespace

ExecutorResult RunSequentially(const isa::Limits& limits, Hbm& hbm, const Program& program,
                               bool checked, std::span<Observer* const> given) {
  CheckFloatEnvironment();
  const Observers observers(given);
  observers.Begin({.cores = limits.cores, .clock = {}});
  Executor executor(limits, hbm, checked, observers);
  return executor.Run(program);
}

}  // namespace bwmm::ops
