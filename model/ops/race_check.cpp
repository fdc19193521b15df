#include "model/ops/race_check.h"

#include <algorithm>
#include <utility>

#include "model/ops/dma_ops.h"
#include "model/ops/operand_runs.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {

void RaceChecker::Emitted(const isa::Instruction& instruction, std::vector<isa::Access> accesses) {
  if (cores_ > 1)
    order_.Add(instruction, std::move(accesses));
}

void RaceChecker::RegisterRead(int core, std::uint32_t register_load) {
  if (cores_ > 1)
    order_.RegisterRead(core, register_load);
}

void RaceChecker::Use(const isa::OperandUse& use, bool write, CoreMemory& memory) {
  if (use.operand.memory != isa::Memory::kHbm)
    return;
  if (use.use.role == isa::Role::kOrdered) {
    if (write)
      Barrier(use.operand);
    return;
  }
  if (!use.dynamic())
    return Access(use.operand, write);
  // Rows of an input nobody may write race with nothing.
  if (!write && hbm_.Find(use.operand.offset, 1).read_only)
    return;
  ForEachDynamicRow(use.operand, *use.rows, *use.offset, memory,
                    [&](std::int64_t, const isa::Operand& row) { Access(row, write); });
}

void RaceChecker::Observe(const isa::Instruction& instruction, CoreMemory& memory) {
  now_ = {.core = instruction.core,
          .id = instruction.id,
          .barriers = 0,
          .opcode = isa::OpcodeOf(instruction)};
  try {
    isa::ForEachOperand(instruction.body, [&](const isa::OperandUse& use) {
      if (isa::Reads(use.use.role))
        Use(use, false, memory);
    });
    isa::ForEachOperand(instruction.body, [&](const isa::OperandUse& use) {
      if (isa::Writes(use.use.role))
        Use(use, true, memory);
    });
  } catch (const Race&) {
    throw;
  } catch (const SimError& error) {
    throw SimError("instruction {} ({}) on core {}: {}", instruction.id, now_.opcode,
                   instruction.core, error.what());
  }
}

void RaceChecker::Barrier(const isa::Operand& data) {
  const HbmTensor& tensor = hbm_.Find(data.offset, data.bytes());
  // One that names a part of the tensor is left to the graph.
  if (data.offset == tensor.address && static_cast<std::uint64_t>(data.bytes()) == tensor.bytes)
    ++ShadowOf(tensor).barriers[now_.core];
}

RaceChecker::Tensor& RaceChecker::ShadowOf(const HbmTensor& tensor) {
  Tensor& shadow = tensors_[tensor.address];
  shadow.barriers.resize(cores_);
  return shadow;
}

void RaceChecker::Access(const isa::Operand& operand, bool write) {
  const HbmTensor& tensor = hbm_.Find(operand.offset, 1);
  if (tensor.read_only) {
    if (write)
      throw SimError("writes tensor {}, which is an input of the program", tensor.name);
    return;
  }
  if (cores_ < 2)
    return;
  Tensor& shadow = ShadowOf(tensor);
  now_.barriers = shadow.barriers[now_.core];
  ForEachHbmRun(operand, [&](std::int64_t first, std::int64_t bytes) {
    AccessBytes(tensor, shadow, static_cast<std::uint64_t>(first),
                static_cast<std::uint64_t>(first + bytes), write);
  });
}

void RaceChecker::AccessBytes(const HbmTensor& tensor, Tensor& shadow, std::uint64_t begin,
                              std::uint64_t end, bool write) {
  if (end > tensor.address + tensor.bytes)
    hbm_.Find(begin, end - begin);  // refuses it
  if (end - tensor.address > tensor.padding_from)
    end = std::max(begin, tensor.address + tensor.padding_from);
  for (auto i = Cut(shadow.cells, begin, end); i != shadow.cells.end() && i->first < end; ++i) {
    if (write)
      Write(tensor, i->first, i->second);
    else
      Read(tensor, shadow, i->first, i->second);
  }
}

RaceChecker::Cells::iterator RaceChecker::Cut(Cells& cells, std::uint64_t begin,
                                              std::uint64_t end) {
  const auto split = [&](std::uint64_t at) {
    auto next = cells.lower_bound(at);
    if (next == cells.begin())
      return next;
    const auto before = std::prev(next);
    if (before->second.end <= at)
      return next;
    Cell upper = before->second;
    before->second.end = at;
    return cells.emplace_hint(next, at, std::move(upper));
  };
  split(end);
  auto first = split(begin);
  std::uint64_t at = begin;
  for (auto i = first; at < end; ++i) {
    if (i == cells.end() || i->first > at) {
      Cell gap;
      gap.end = i == cells.end() ? end : std::min(end, i->first);
      i = cells.emplace_hint(i, at, std::move(gap));
      if (at == begin)
        first = i;
    }
    at = i->second.end;
  }
  return first;
}

void RaceChecker::Read(const HbmTensor& tensor, const Tensor& shadow, std::uint64_t begin,
                       Cell& cell) {
  if (cell.written)
    Require(tensor, begin, cell, cell.write, true, false);
  if (std::ssize(cell.reads) >= 2 * kCoreReads * cores_)
    Thin(shadow, cell.reads);
  cell.reads.push_back(now_);
}

void RaceChecker::Thin(const Tensor& shadow, std::vector<Record>& reads) const {
  // A read that every later access of the other cores is behind has nothing more to say.
  std::erase_if(reads, [&](const Record& read) {
    for (int core = 0; core < cores_; ++core) {
      if (core != read.core && read.barriers >= shadow.barriers[core])
        return false;
    }
    return true;
  });
  // Of a core's others the latest speak for all: a barrier that one of them is before, the earlier
  // ones are before too.
  for (int core = 0; core < cores_; ++core) {
    auto left = std::ranges::count(reads, core, &Record::core);
    std::erase_if(reads,
                  [&](const Record& read) { return read.core == core && left-- > kCoreReads; });
  }
}

void RaceChecker::Write(const HbmTensor& tensor, std::uint64_t begin, Cell& cell) {
  if (cell.written)
    Require(tensor, begin, cell, cell.write, true, true);
  for (const Record& read : cell.reads)
    Require(tensor, begin, cell, read, false, true);
  // Whatever is ordered behind this write is behind all it was ordered behind.
  cell.reads.clear();
  cell.written = true;
  cell.write = now_;
}

void RaceChecker::Require(const HbmTensor& tensor, std::uint64_t begin, const Cell& cell,
                          const Record& earlier, bool earlier_writes, bool writes) {
  if (earlier.core == now_.core || earlier.barriers < now_.barriers ||
      order_.Orders({earlier.core, earlier.id}, {now_.core, now_.id}))
    return;
  // Which of the two comes second may be chance, so the text does not depend on it.
  const auto text = [](const Record& record, bool write) {
    return fmt::format("core {} instruction {} ({}) {} them", record.core, record.id, record.opcode,
                       write ? "writes" : "reads");
  };
  const std::string mine = text(now_, writes), theirs = text(earlier, earlier_writes);
  throw Race(
      "race on bytes {}..{} of tensor {}: {}, {}, and nothing orders the two; missing is a "
      "core_barrier on {} (or a sendrecv) that one of them comes before and the other after",
      begin - tensor.address, cell.end - tensor.address - 1, tensor.name,
      now_.core < earlier.core ? mine : theirs, now_.core < earlier.core ? theirs : mine,
      tensor.name);
}

}  // namespace bwmm::ops
