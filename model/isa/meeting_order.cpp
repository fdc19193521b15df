#include "model/isa/meeting_order.h"

#include "model/isa/text.h"
#include "model/isa/unit.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

std::string Name(const Instruction& instruction) {
  return fmt::format("core {} instruction {}", instruction.core, instruction.id);
}

void CheckBarrier(const Instruction& a, const Instruction& b) {
  const Operand& first = std::get<CoreBarrier>(a.body).data;
  const Operand& second = std::get<CoreBarrier>(b.body).data;
  if (first.offset != second.offset || first.bytes() != second.bytes())
    throw SimError("core_barrier: {} names {}, {} names {}", Name(a), ToText(first), Name(b),
                   ToText(second));
}

void CheckSendRecv(const Instruction& a, const Instruction& b) {
  const auto& first = std::get<SendRecv>(a.body);
  const auto& second = std::get<SendRecv>(b.body);
  if (first.pipe_id != second.pipe_id)
    throw SimError("sendrecv: {} uses pipe {}, {} uses pipe {}", Name(a), first.pipe_id, Name(b),
                   second.pipe_id);
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Operand& out = std::get<SendRecv>(from->body).src;
    const Operand& in = std::get<SendRecv>(to->body).dst;
    if (out.partitions != in.partitions || out.free_size() != in.free_size() ||
        out.dtype != in.dtype)
      throw SimError("sendrecv pipe {}: {} sends {}, {} takes {}", first.pipe_id, Name(*from),
                     ToText(out), Name(*to), ToText(in));
  }
}

}  // namespace

void MeetingOrder::Add(const Instruction& instruction) {
  if (cores_ < 2 || !IsMeeting(instruction.body))
    return;
  auto& others = open_[1 - instruction.core];
  if (others.empty()) {
    open_[instruction.core].push_back(instruction);
    return;
  }
  const Instruction other = others.front();
  others.pop_front();
  if (instruction.core == 0)
    CheckPair(instruction, other);
  else
    CheckPair(other, instruction);
}

void MeetingOrder::CheckPair(const Instruction& a, const Instruction& b) const {
  if (a.body.index() != b.body.index())
    throw SimError("{} is a {}, {} is a {}: both cores must come to their meetings in one order",
                   Name(a), OpcodeOf(a), Name(b), OpcodeOf(b));
  if (std::holds_alternative<CoreBarrier>(a.body))
    CheckBarrier(a, b);
  else
    CheckSendRecv(a, b);
}

std::optional<std::string> MeetingOrder::Alone() const {
  for (const auto& open : open_) {
    if (open.empty())
      continue;
    const Instruction& first = open.front();
    return fmt::format("{} ({}) waits for core {}, which has ended: {}", Name(first),
                       OpcodeOf(first), 1 - first.core, ToText(first));
  }
  return std::nullopt;
}

}  // namespace bwmm::isa
