#include "model/system/records.h"

#include <algorithm>
#include <tuple>

namespace bwmm {

void Records::Completed(const ops::Completion& completion) {
  const isa::Instruction& instruction = completion.instruction;
  records_.push_back({instruction.id, instruction.core, completion.unit, isa::OpcodeOf(instruction),
                      clock_.Cycles(completion.start), clock_.Cycles(completion.at),
                      completion.stall});
}

std::vector<InstructionRecord> Records::Sorted() const {
  std::vector<InstructionRecord> sorted = records_;
  std::sort(sorted.begin(), sorted.end(),
            [](const InstructionRecord& a, const InstructionRecord& b) {
              return std::tie(a.end, a.core, a.id) < std::tie(b.end, b.core, b.id);
            });
  return sorted;
}

}  // namespace bwmm
