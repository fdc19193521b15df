#include "model/isa/meeting_order.h"

#include "model/isa/text.h"
#include "model/isa/unit.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

std::string Name(const Instruction& instruction) {
  return fmt::format("core {} instruction {}", instruction.core, instruction.id);
}

bool IsBarrier(const Instruction& meeting) {
  return std::holds_alternative<CoreBarrier>(meeting.body);
}

int PeerOf(const Instruction& sendrecv) {
  return std::get<SendRecv>(sendrecv.body).peer;
}

void RefuseOrder(const Instruction& a, const Instruction& b) {
  throw SimError("{} is a {}, {} is a {}: cores {} and {} must come to their meetings in one order",
                 Name(a), OpcodeOf(a), Name(b), OpcodeOf(b), a.core, b.core);
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

std::string CoresWhich(const std::vector<int>& cores) {
  std::string text = cores.size() == 1 ? "core " : "cores ";
  for (const int core : cores)
    text += std::to_string(core) + ", ";
  return text + (cores.size() == 1 ? "which has" : "which have");
}

void MeetingOrder::Add(const Instruction& instruction) {
  if (cores() < 2 || !IsMeeting(instruction.body))
    return;
  open_[instruction.core].push_back(instruction);
  // A core that stood at a meeting before stands at it still.
  if (open_[instruction.core].size() > 1)
    return;
  while (MeetOnce()) {
  }
}

bool MeetingOrder::MeetOnce() {
  if (MeetAll())
    return true;
  for (int core = 0; core < cores(); ++core) {
    const Head mine = HeadOf(core);
    if (mine != nullptr && !IsBarrier(*mine) && MeetPair(core))
      return true;
  }
  return false;
}

// The barrier, once every core stands at it.
bool MeetingOrder::MeetAll() {
  Head first = nullptr;
  int arrived = 0;
  for (int core = 0; core < cores(); ++core) {
    const Head mine = HeadOf(core);
    if (mine == nullptr || !IsBarrier(*mine))
      continue;
    ++arrived;
    if (first == nullptr)
      first = mine;
    else
      CheckBarrier(*first, *mine);
  }
  if (arrived < cores())
    return false;
  for (auto& open : open_)
    open.pop_front();
  return true;
}

// The sendrecv `core` stands at, once its peer stands at it too.
bool MeetingOrder::MeetPair(int core) {
  const Head mine = HeadOf(core);
  const int peer = PeerOf(*mine);
  const Head theirs = HeadOf(peer);
  if (theirs == nullptr)
    return false;
  if (IsBarrier(*theirs))
    core < peer ? RefuseOrder(*mine, *theirs) : RefuseOrder(*theirs, *mine);
  if (PeerOf(*theirs) != core) {
    RefuseRing(core);
    return false;
  }
  core < peer ? CheckSendRecv(*mine, *theirs) : CheckSendRecv(*theirs, *mine);
  open_[core].pop_front();
  open_[peer].pop_front();
  return true;
}

// Who waits for whom, from `core` on: back to it, nobody can go on.
void MeetingOrder::RefuseRing(int core) const {
  std::string text;
  int at = core;
  for (int steps = 0; steps < cores(); ++steps) {
    const Head mine = HeadOf(at);
    if (mine == nullptr || IsBarrier(*mine))
      return;
    text += fmt::format("{}{} (sendrecv) waits for core {}", text.empty() ? "" : ", ", Name(*mine),
                        PeerOf(*mine));
    at = PeerOf(*mine);
    if (at == core)
      throw SimError("{}: a ring in which no core can go on", text);
  }
}

std::optional<std::string> MeetingOrder::Alone() const {
  for (int core = 0; core < cores(); ++core) {
    const Head mine = HeadOf(core);
    if (mine == nullptr)
      continue;
    std::vector<int> absent;
    for (int other = 0; other < cores(); ++other) {
      const bool awaited = IsBarrier(*mine) ? other != core : other == PeerOf(*mine);
      if (awaited && HeadOf(other) == nullptr)
        absent.push_back(other);
    }
    // One that waits for a core that waits itself is not the reason.
    if (!absent.empty())
      return fmt::format("{} ({}) waits for {} ended: {}", Name(*mine), OpcodeOf(*mine),
                         CoresWhich(absent), ToText(*mine));
  }
  return std::nullopt;
}

}  // namespace bwmm::isa
