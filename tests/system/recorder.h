// An observer that writes everything down.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/isa/text.h"
#include "model/ops/observer.h"

namespace bwmm::test {

class Recorder final : public ops::Observer {
 public:
  struct Seen {
    std::string what;  // emitted, started, completed, ..
    int core = 0;
    std::uint32_t id = 0;
    isa::Unit unit = isa::Unit::kTensor;
    ops::Ticks at = 0;
  };

  void Began(const ops::Beginning& event) override { beginning = event; }
  void Emitted(const ops::Emission& event) override {
    See("emitted", event.instruction, event.unit, event.at);
  }
  void DependsOn(const ops::Dependence& event) override {
    dependences.push_back(event);
    lines.push_back(fmt::format("{} waits for {}: {}{}", event.id, event.on, NameOf(event.cause),
                                event.semaphore ? ", semaphore" : ""));
  }
  void ReadsOperands(const ops::Reading& event) override {
    See("reads", event.instruction, isa::UnitOf(event.instruction), event.at);
  }
  void Started(const ops::Start& event) override {
    See("started", event.instruction, event.unit, event.at);
  }
  void DescriptorsStarted(const ops::Start& event) override {
    See("descriptors", event.instruction, event.unit, event.at);
  }
  void PartMoved(const ops::MovedPart& event) override {
    parts.push_back(event);
    lines.push_back(
        fmt::format("{} part: engine {}, {} bytes", event.id, event.engine, event.bytes));
  }
  void Completed(const ops::Completion& event) override {
    See("completed", event.instruction, event.unit, event.at);
  }
  void Allocated(const ops::Allocation& event) override {
    lines.push_back(fmt::format("{} before {}: allocated {}..{}", event.name, event.position,
                                event.begin, event.begin + event.bytes - 1));
  }
  void Freed(const ops::Allocation& event) override {
    lines.push_back(fmt::format("before {}: freed {}", event.position, event.begin));
  }
  void Counted(const ops::Count& event) override { counts.push_back(event); }
  void Spent(const ops::Spending& event) override { spendings.push_back(event); }

  ops::Beginning beginning;
  std::vector<Seen> seen;
  std::vector<ops::Dependence> dependences;
  std::vector<ops::MovedPart> parts;
  std::vector<ops::Count> counts;
  std::vector<ops::Spending> spendings;
  std::vector<std::string> lines;  // without counts and units' time

 private:
  void See(const char* what, const isa::Instruction& instruction, isa::Unit unit, ops::Ticks at) {
    seen.push_back({what, instruction.core, instruction.id, unit, at});
    lines.push_back(fmt::format("{} {} {} on {}", instruction.id, isa::OpcodeOf(instruction), what,
                                NameOf(unit)));
  }
};

}  // namespace bwmm::test
