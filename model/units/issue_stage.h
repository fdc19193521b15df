// The front of a core: takes the kernel's instructions in program order, finds their dependencies
// and hands them to the units; takes them back when they complete.
//
//   kernel thread --Emit--> [ validate, id, hazards ] --WorkIf--> units
//         ^                        window of work in flight          |
//         +--- RegisterValue <---- [ execute, resolve ] <--RetireIf--+
//
// The kernel runs ahead of the machine without taking time; it waits only for a register it reads,
// or when the window is full (a bound on host memory, far more than the machine's buffers hold).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <systemc>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/isa/hazard_tracker.h"
#include "model/isa/program_check.h"
#include "model/isa/sink.h"
#include "model/ops/execute.h"
#include "model/ops/observers.h"
#include "model/units/run_state.h"
#include "model/units/streams.h"

namespace bwmm::units {

class IssueStage final : public sc_core::sc_module, public isa::Sink, public RetireIf {
 public:
  struct Config {
    int core = 0;
    isa::Limits limits;
    Tick semaphore = 0;            // from completion until another unit sees it
    std::uint32_t window = 65536;  // instructions in flight
  };
  // Checkers, which may refuse what they see; each may be empty.
  struct Hooks {
    // In program order, with what it reads and writes.
    std::function<void(const isa::Instruction&, std::vector<isa::Access>)> emitted;
    std::function<void(std::uint32_t)> register_read;  // the kernel waits for it
    std::function<void(isa::Memory, std::uint64_t, std::uint64_t, const std::string&)> allocated;
    std::function<void(isa::Memory, std::uint64_t, std::uint32_t)>
        freed;                                              // position in the program
    std::function<void(const isa::Instruction&)> observed;  // before operands are read
  };
  struct Stats {
    std::uint64_t emitted = 0;
    std::uint64_t completed = 0;
    std::array<std::uint64_t, kUnits> per_unit{};
  };

  IssueStage(sc_core::sc_module_name name, const Config& config, RunState& run,
             ops::CoreMemory& memory, std::function<void(isa::Sink&)> kernel, Hooks hooks,
             const ops::Observers& observers);

  sc_core::sc_port<WorkIf> tensor{"tensor"};
  sc_core::sc_port<WorkIf> vector{"vector"};
  sc_core::sc_port<WorkIf> scalar{"scalar"};
  sc_core::sc_port<WorkIf> gpsimd{"gpsimd"};
  sc_core::sc_port<WorkIf> sync{"sync"};
  sc_core::sc_port<WorkIf> dma{"dma"};

  // Sink
  int core() const override { return config_.core; }
  const isa::Limits& limits() const override { return config_.limits; }
  std::uint32_t Emit(isa::Engine engine, isa::Body body) override;
  std::int32_t RegisterValue(std::uint32_t register_load_id) override;
  void Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                 const std::string& name) override;
  void Freed(isa::Memory memory, std::uint64_t begin) override;

  // RetireIf
  void Started(const Work& work) override;
  void DescriptorsStarted(const Work& work) override;
  void PartMoved(const Work& work, const DmaPart& part, Tick until) override;
  void PartsWaiting(std::int64_t parts) override { TellCount("dma.parts", parts); }
  void Observe(const Work& work) override;
  void ReadDone(Work& work) override;
  void Complete(Work& work) override;

  // The kernel has ended and nothing is in flight.
  bool done() const { return kernel_done_ && in_flight_ == 0; }
  const Stats& stats() const { return stats_; }
  Tick last_completion() const { return last_completion_; }
  // For a deadlock report: work in flight, oldest first, and what the kernel waits for.
  const std::deque<Work>& in_flight() const { return window_; }
  std::string KernelState() const;

 private:
  struct Unwind {};  // leaves a waiting kernel when the run is over

  void RunKernel();
  void WaitForChange();
  void Route(Work& work);
  WorkIf& PortOf(const Work& work, Gate gate);
  void Depend(Work& work, const isa::Dependency& dependency);
  void TellEmitted(const Work& work);
  void TellDependence(const Work& work, const Work& on, const isa::Dependency& dependency);
  void TellCount(std::string_view name, std::int64_t value);
  void TellQueue(Unit unit, int change);
  void Meet(Work& earlier, const Dependent& dependent, Tick when);
  bool Visible(const Work& work) const;

  const Config config_;
  CoroutineStack stack_;
  RunState& run_;
  ops::CoreMemory& memory_;
  std::function<void(isa::Sink&)> kernel_;
  Hooks hooks_;
  const ops::Observers& observers_;
  isa::ProgramCheck check_;
  isa::HazardTracker hazards_;
  std::deque<Work> window_;  // ids oldest_ .. next_ - 1
  std::uint32_t oldest_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t barriers_ = 0;
  std::map<std::pair<int, int>, std::uint32_t> pipe_uses_;                    // by peer and pipe
  std::unordered_map<std::uint32_t, std::optional<std::int32_t>> registers_;  // by id
  std::optional<std::uint32_t> waits_for_register_;
  std::optional<std::uint32_t> register_read_;  // since the last instruction
  std::array<std::int64_t, kUnits> queued_{};   // emitted and not started; kept for observers
  bool window_full_ = false;
  bool kernel_done_ = false;
  std::vector<isa::Dependency> dependencies_;
  sc_core::sc_event kernel_wake_{"kernel_wake"};
  Stats stats_;
  Tick last_completion_ = 0;
};

}  // namespace bwmm::units
