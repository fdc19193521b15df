// Runs a point's kernel in timing on one core.
#include "bench/validation/point.h"

namespace bwmm::validation {

const InstructionRecord& Trial::Only(isa::Unit unit) const {
  const InstructionRecord* found = nullptr;
  for (const InstructionRecord& record : records) {
    if (record.unit != unit)
      continue;
    Check(found == nullptr, "a point measures the only instruction of its unit");
    found = &record;
  }
  Check(found != nullptr, "a point's kernel has the instruction it measures");
  return *found;
}

Stage::Stage(const std::string& preset)
    : machine_(LoadMachine(preset)),
      hbm_(static_cast<std::uint64_t>(machine_.hbm.capacity_mib) << 20) {
  machine_.cores = 1;
}

lang::HbmTensor Stage::Tensor(const std::string& name, DType dtype,
                              std::vector<std::int64_t> shape) {
  const ops::HbmTensor& made = hbm_.Allocate(name, dtype, std::move(shape), false);
  return {.name = made.name, .dtype = made.dtype, .shape = made.shape, .address = made.address};
}

Trial Stage::Run(const std::function<void(lang::Core&)>& kernel) {
  Records records;
  const RunResult result = RunMachine(machine_, Fidelity::kTiming, hbm_,
                                      [&kernel](isa::Sink& sink) {
                                        lang::Core core(sink);
                                        kernel(core);
                                      },
                                      {.observers = {&records}});
  return {.cycles = result.cycles,
          .ns_per_cycle = 1e3 / static_cast<double>(machine_.clock.tensor_mhz),
          .core = result.cores.front(),
          .records = records.Sorted()};
}

}  // namespace bwmm::validation
