// Runs a point's kernel in timing on one core.
#include <algorithm>
#include <limits>

#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

// When DMA engines move bytes.
class Bytes final : public ops::Observer {
 public:
  bool Wants(ops::Event event) const override { return event == ops::Event::kPartMoved; }
  void Began(const ops::Beginning& beginning) override { clock_ = beginning.clock; }
  void PartMoved(const ops::MovedPart& part) override {
    first_ = std::min(first_, clock_.Cycles(part.from));
    last_ = std::max(last_, clock_.Cycles(part.to));
  }

  std::uint64_t first() const { return first_; }
  std::uint64_t last() const { return last_; }

 private:
  ops::RunClock clock_;
  std::uint64_t first_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last_ = 0;
};

}  // namespace

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
  Bytes bytes;
  const RunResult result = RunMachine(machine_, Fidelity::kTiming, hbm_,
                                      [&kernel](isa::Sink& sink) {
                                        lang::Core core(sink);
                                        kernel(core);
                                      },
                                      {.observers = {&records, &bytes}});
  const double ns_per_cycle = 1e3 / static_cast<double>(machine_.clock.tensor_mhz);
  return {.cycles = result.cycles,
          .ns_per_cycle = ns_per_cycle,
          .first_byte_ns = static_cast<double>(bytes.first()) * ns_per_cycle,
          .last_byte_ns = static_cast<double>(bytes.last()) * ns_per_cycle,
          .core = result.cores.front(),
          .records = records.Sorted()};
}

}  // namespace bwmm::validation
