#include "model/ops/executor.h"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "model/isa/access.h"
#include "model/isa/meeting_order.h"
#include "model/isa/program_check.h"
#include "model/isa/unit.h"
#include "model/ops/execute.h"
#include "model/ops/matmul.h"
#include "model/ops/matmul_mx.h"
#include "model/ops/memory_check.h"
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

// Thrown in the thread of one core when the other one failed.
struct Stopped {};

class Executor;

class Core final : public isa::Sink {
 public:
  Core(Executor& executor, int id, const isa::Limits& limits, Hbm& hbm, bool checked)
      : executor_(executor),
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
  }
  void Freed(isa::Memory memory, std::uint64_t begin) override {
    if (memory_check_)
      memory_check_->Freed(memory, begin, next_id_);
  }

  CoreMemory& memory() { return memory_; }
  std::uint32_t emitted() const { return next_id_; }

 private:
  void Run(const isa::Instruction& instruction);
  void Multiply(const isa::MultiplyMoving& op);

  Executor& executor_;
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

// Runs one core at a time: a core keeps the baton until it waits for its peer or ends.
class Executor {
 public:
  Executor(const isa::Limits& limits, Hbm& hbm, bool checked)
      : cores_(limits.cores), meetings_(limits.cores) {
    Check(limits.cores == 1 || limits.cores == 2, "one or two cores");
    for (int c = 0; c < cores_; ++c)
      core_[c].emplace(*this, c, limits, hbm, checked);
    if (checked)
      races_.emplace(cores_, hbm);
  }

  ExecutorResult Run(const Program& program) {
    std::array<std::thread, 2> threads;
    for (int c = 0; c < cores_; ++c)
      threads[c] = std::thread([this, c, &program] { RunCore(c, program); });
    for (int c = 0; c < cores_; ++c)
      threads[c].join();
    if (error_)
      std::rethrow_exception(error_);
    ExecutorResult result;
    for (int c = 0; c < cores_; ++c)
      result.instructions += core_[c]->emitted();
    return result;
  }

  // What concerns both cores; one of them runs at a time.
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

  // Blocks until the peer reaches its matching meeting; the second to arrive carries it out. One
  // core alone passes.
  void Meet(const isa::Instruction& mine) {
    if (cores_ == 1)
      return;
    std::unique_lock lock(mutex_);
    const int self = mine.core;
    const int peer = 1 - self;
    if (waiting_[peer] != nullptr) {
      CarryOut(mine, *waiting_[peer]);
      waiting_[peer] = nullptr;
      return;
    }
    if (done_[peer])
      throw SimError("{}", *meetings_.Alone());
    waiting_[self] = &mine;
    PassBaton(peer);
    changed_.wait(lock, [&] { return stopped_ || (baton_ == self && waiting_[self] == nullptr); });
    if (stopped_)
      throw Stopped{};
  }

 private:
  void RunCore(int self, const Program& program) {
    try {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || baton_ == self; });
        if (stopped_)
          return;
      }
      program(*core_[self]);
      std::unique_lock lock(mutex_);
      done_[self] = true;
      if (cores_ == 1)
        return;
      if (waiting_[1 - self] != nullptr)
        throw SimError("{}", *meetings_.Alone());
      PassBaton(1 - self);
    } catch (const Stopped&) {
    } catch (...) {
      std::unique_lock lock(mutex_);
      if (!error_)
        error_ = std::current_exception();
      stopped_ = true;
      changed_.notify_all();
    }
  }

  void PassBaton(int to) {
    baton_ = to;
    changed_.notify_all();
  }

  void CarryOut(const isa::Instruction& a, const isa::Instruction& b) {
    if (const auto* mine = std::get_if<isa::SendRecv>(&a.body)) {
      const auto& theirs = std::get<isa::SendRecv>(b.body);
      CopyAcross(mine->src, core_[a.core]->memory(), theirs.dst, core_[b.core]->memory());
      CopyAcross(theirs.src, core_[b.core]->memory(), mine->dst, core_[a.core]->memory());
    }
  }

  int cores_;
  isa::MeetingOrder meetings_;
  std::optional<RaceChecker> races_;
  std::array<std::optional<Core>, 2> core_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int baton_ = 0;
  bool stopped_ = false;
  std::array<bool, 2> done_{};
  std::array<const isa::Instruction*, 2> waiting_{};
  std::exception_ptr error_;
};

std::uint32_t Core::Emit(isa::Engine engine, isa::Body body) {
  ThrowIfInterrupted();
  const isa::Instruction instruction{
      .id = next_id_++, .core = id_, .engine = engine, .body = std::move(body)};
  program_check_.Add(instruction);
  executor_.Admit(instruction, memory_);
  if (memory_check_)
    memory_check_->Observe(instruction, "in program order");
  Run(instruction);
  return instruction.id;
}

std::int32_t Core::RegisterValue(std::uint32_t id) {
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
    stationary_data_ = GatherPeOperand(load->stationary, load->scale, sbuf_);
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
  const PeOperand moving = GatherPeOperand(op.moving, op.scale, sbuf_);
  Check(moving.rows == k, "stationary and moving have the same partitions");
  std::vector<float> out(std::size_t{1} * moving.columns * m);
  if (op.mode == PeMode::kMx) {
    MatmulMx(stationary_.stationary.dtype, stationary_data_.data.data(),
             stationary_data_.scales.data(), op.moving.dtype, moving.data.data(),
             moving.scales.data(), k, m, moving.columns, out.data());
  } else {
    Matmul(stationary_.stationary.dtype, stationary_data_.data.data(), op.moving.dtype,
           moving.data.data(), k, m, moving.columns, out.data());
  }
  psum_.Write(address, op.dst.dtype, op.accumulate, out.data(), moving.columns, m);
}

}  // namespace

ExecutorResult RunSequentially(const isa::Limits& limits, Hbm& hbm, const Program& program,
                               bool checked) {
  CheckFloatEnvironment();
  Executor executor(limits, hbm, checked);
  return executor.Run(program);
}

}  // namespace bwmm::ops
