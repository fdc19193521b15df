#include "replay/replay_program.h"

#include <map>

#include "model/support/sim_error.h"

namespace bwmm::replay {

std::vector<std::size_t> EmitSteps(const std::vector<ReplayStep>& steps, isa::Sink& sink) {
  std::vector<std::size_t> emitted;
  std::map<std::uint32_t, std::uint32_t> loads;  // id in the program to the sink's
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ReplayStep& step = steps[i];
    if (step.when) {
      const auto load = loads.find(step.when->load);
      if (load == loads.end())
        throw SimError(
            "instruction {} on core {}: waits for register {}, allowed is an earlier "
            "register_load",
            step.instruction.id, step.instruction.core, step.when->load);
      if (sink.RegisterValue(load->second) <= step.when->value)
        continue;
    }
    const std::uint32_t id = sink.Emit(step.instruction.engine, step.instruction.body);
    emitted.push_back(i);
    if (std::holds_alternative<isa::RegisterLoad>(step.instruction.body))
      loads.emplace(step.instruction.id, id);
  }
  return emitted;
}

}  // namespace bwmm::replay
