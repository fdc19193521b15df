#include "model/system/wait_graph.h"

#include <fmt/format.h>

#include <array>

#include "model/isa/meeting_order.h"
#include "model/isa/text.h"

namespace bwmm {
namespace {

using units::Work;

std::string Name(const Work& work) {
  return fmt::format("instruction {} ({}, {})", work.instruction.id,
                     isa::OpcodeOf(work.instruction), units::NameOf(work.unit));
}

std::string MeetingName(const Work& work) {
  if (const auto* exchange = std::get_if<isa::SendRecv>(&work.instruction.body))
    return fmt::format("sendrecv {} of pipe {} with core {}", work.meeting, exchange->pipe_id,
                       work.instruction.core);
  return fmt::format("core_barrier {}", work.meeting);
}

// The instructions in flight that hold one of its gates closed.
std::string Holders(const Work& work, const std::deque<Work>& in_flight) {
  std::string text;
  for (const Work& earlier : in_flight) {
    for (const units::Dependent& dependent : earlier.dependents) {
      if (dependent.work != &work)
        continue;
      text += (text.empty() ? "" : ", ") + Name(earlier) +
              (dependent.until_read ? " to read its operands" : " to complete");
      break;
    }
  }
  return text;
}

std::string Why(const Work& work, const std::deque<Work>& in_flight,
                const units::Exchange& exchange) {
  const std::vector<int> absent = exchange.AbsentFrom(work);
  if (!absent.empty())
    return fmt::format("waits for {} not reached {}", isa::CoresWhich(absent), MeetingName(work));
  const std::string holders = Holders(work, in_flight);
  if (!holders.empty())
    return "waits for " + holders;
  return "waits for its turn";
}

}  // namespace

std::string WaitGraph(std::span<CoreModel* const> cores, const units::Exchange& exchange) {
  std::string text;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    const auto& issue = cores[core]->issue();
    text += fmt::format("\n  core {} kernel {}", core, issue.KernelState());
    std::array<bool, units::kUnits> seen{};
    for (const Work& work : issue.in_flight()) {
      bool& unit_seen = seen[static_cast<int>(work.unit)];
      if (work.completed || unit_seen)
        continue;
      unit_seen = true;
      text +=
          fmt::format("\n  core {} {}: {} {}\n      {}", core, units::NameOf(work.unit), Name(work),
                      Why(work, issue.in_flight(), exchange), isa::ToText(work.instruction));
    }
  }
  return text;
}

}  // namespace bwmm
