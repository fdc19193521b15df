// A program emitted and forgotten: allocations, refusals and the count of instructions show,
// nothing runs.
#pragma once

#include <cstdint>
#include <functional>

#include "model/isa/program_check.h"
#include "model/isa/sink.h"

namespace bwmm::workloads {

class DryRunSink final : public isa::Sink {
 public:
  DryRunSink(int core, const isa::Limits& limits) : core_(core), limits_(limits), check_(limits) {}
  int core() const override { return core_; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(isa::Engine engine, isa::Body body) override;
  std::int32_t RegisterValue(std::uint32_t id) override {
    check_.ReadRegister(core_, id);
    return 0;
  }
  std::uint32_t count() const { return count_; }

 private:
  int core_;
  const isa::Limits& limits_;
  isa::ProgramCheck check_;
  std::uint32_t count_ = 0;
};

// Instructions of all cores. SimError as the run would give it, lang::DoesNotFit for buffers.
std::uint64_t DryRun(const std::function<void(isa::Sink&)>& program, const isa::Limits& limits);

}  // namespace bwmm::workloads
