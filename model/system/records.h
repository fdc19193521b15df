// When each instruction started and ended, and what its unit waited for before.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/ops/observer.h"

namespace bwmm {

// In TensorEngine cycles.
struct InstructionRecord {
  std::uint32_t id = 0;
  int core = 0;
  isa::Unit unit = isa::Unit::kTensor;
  std::string_view opcode;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  isa::TimeClass stall = isa::TimeClass::kBusy;  // what its unit waited for longest in front of it
};

class Records final : public ops::Observer {
 public:
  bool Wants(ops::Event event) const override { return event == ops::Event::kCompleted; }
  void Began(const ops::Beginning& beginning) override { clock_ = beginning.clock; }
  void Completed(const ops::Completion& completion) override;

  // By end, core, id. What completes in one phase completes in no particular order.
  std::vector<InstructionRecord> Sorted() const;

 private:
  ops::RunClock clock_;
  std::vector<InstructionRecord> records_;
};

}  // namespace bwmm
