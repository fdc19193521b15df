#include "workloads/dry_run.h"

#include <utility>

#include "model/support/interrupt.h"

namespace bwmm::workloads {

std::uint32_t DryRunSink::Emit(isa::Engine engine, isa::Body body) {
  ThrowIfInterrupted();
  check_.Add({.id = count_, .core = core_, .engine = engine, .body = std::move(body)});
  return count_++;
}

std::uint64_t DryRun(const std::function<void(isa::Sink&)>& program, const isa::Limits& limits) {
  std::uint64_t instructions = 0;
  for (int core = 0; core < limits.cores; ++core) {
    DryRunSink sink(core, limits);
    program(sink);
    instructions += sink.count();
  }
  return instructions;
}

}  // namespace bwmm::workloads
