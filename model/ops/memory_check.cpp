#include "model/ops/memory_check.h"

#include <algorithm>
#include <cstring>

#include "model/ops/dma_ops.h"
#include "model/ops/operand_runs.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {

MemoryChecker::MemoryChecker(const isa::Limits& limits, CoreMemory& memory)
    : memory_(memory),
      sbuf_bytes_(limits.sbuf_bytes),
      psum_bytes_(limits.psum_banks * limits.psum_bank_bytes),
      sbuf_written_(limits.partitions * sbuf_bytes_),
      psum_written_(limits.psum_partitions * psum_bytes_),
      sbuf_lifetimes_("sbuf", sbuf_bytes_),
      psum_lifetimes_("psum", psum_bytes_) {}

Lifetimes& MemoryChecker::LifetimesOf(isa::Memory memory) {
  return memory == isa::Memory::kSbuf ? sbuf_lifetimes_ : psum_lifetimes_;
}

void MemoryChecker::Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                              const std::string& name) {
  LifetimesOf(memory).Allocated(begin, bytes, name);
}

void MemoryChecker::Freed(isa::Memory memory, std::uint64_t begin, std::uint32_t position) {
  LifetimesOf(memory).Freed(begin, position);
}

// Calls f(first byte of the map, bytes, what a byte written for this instruction holds) for each
// stretch of an operand in SBUF or PSUM.
template <typename F>
void MemoryChecker::ForEachStretch(const isa::Operand& operand, F f) const {
  const bool sbuf = operand.memory == isa::Memory::kSbuf;
  const std::int64_t pitch = sbuf ? sbuf_bytes_ : psum_bytes_;
  const Lifetimes& lifetimes = sbuf ? sbuf_lifetimes_ : psum_lifetimes_;
  // The same in every partition.
  isa::Operand row = operand;
  row.partition = 0;
  row.partitions = 1;
  stretches_.clear();
  ForEachRun(row, pitch, [&](std::int64_t first, std::int64_t bytes) {
    lifetimes.ForEachGeneration(first, first + bytes, position_,
                                [&](std::int64_t begin, std::int64_t end, std::uint8_t generation) {
                                  stretches_.push_back({begin, end - begin, generation});
                                });
  });
  for (std::int64_t p = operand.partition; p < operand.partition + operand.partitions; ++p) {
    for (const Stretch& stretch : stretches_)
      f(p * pitch + stretch.begin, stretch.bytes,
        static_cast<std::uint8_t>(1 + stretch.generation));
  }
}

// Calls f(map, first word, one past the last word) for each run in a tensor that has a map.
template <typename F>
void MemoryChecker::ForEachTrackedRun(const isa::Operand& operand, F f) const {
  ForEachHbmRun(operand, [&](std::int64_t address, std::int64_t bytes) {
    HbmTensor& tensor = memory_.hbm.Find(address, bytes);
    const auto first = static_cast<std::int64_t>(address - tensor.address);
    if (!tensor.written.empty())
      f(tensor.written, first / 4, (first + bytes + 3) / 4);
  });
}

void MemoryChecker::Read(const isa::Operand& operand, std::string_view name) {
  const auto require = [&](bool written) {
    if (!written)
      throw SimError("{} reads bytes never written, {}", name, isa::ToText(operand));
  };
  if (operand.memory == isa::Memory::kHbm) {
    ForEachTrackedRun(
        operand, [&](const std::vector<bool>& map, std::int64_t first, std::int64_t end) {
          require(std::find(map.begin() + first, map.begin() + end, false) == map.begin() + end);
        });
    return;
  }
  const auto& map = operand.memory == isa::Memory::kSbuf ? sbuf_written_ : psum_written_;
  ForEachStretch(operand, [&](std::int64_t first, std::int64_t bytes, std::uint8_t mark) {
    // Without a way out in the middle, so that it vectorizes.
    std::uint8_t differs = 0;
    for (std::int64_t i = first; i < first + bytes; ++i)
      differs |= map[i] ^ mark;
    require(differs == 0);
  });
}

void MemoryChecker::Write(const isa::Operand& operand) {
  if (operand.memory == isa::Memory::kHbm) {
    ForEachTrackedRun(operand, [](std::vector<bool>& map, std::int64_t first, std::int64_t end) {
      std::fill(map.begin() + first, map.begin() + end, true);
    });
    return;
  }
  auto& map = operand.memory == isa::Memory::kSbuf ? sbuf_written_ : psum_written_;
  ForEachStretch(operand, [&](std::int64_t first, std::int64_t bytes, std::uint8_t mark) {
    std::memset(&map[first], mark, bytes);
  });
}

namespace {

// Row p of an operand.
isa::Operand Lane(const isa::Operand& operand, std::int64_t p) {
  isa::Operand lane = operand;
  lane.partitions = 1;
  if (operand.memory == isa::Memory::kHbm)
    lane.offset += p * operand.partition_stride * SizeOf(operand.dtype);
  else
    lane.partition += static_cast<int>(p);
  return lane;
}

}  // namespace

void MemoryChecker::ReadUse(const isa::OperandUse& use, RowsTaken& taken) {
  const isa::Role role = use.use.role;
  if (role == isa::Role::kIndex || role == isa::Role::kOrdered)
    return;
  if (isa::IsScale(role))
    return isa::ForEachScaleQuadrant(use.operand,
                                     [&](const isa::Operand& rows) { Read(rows, use.name); });
  if (!use.dynamic())
    return Read(use.operand, role == isa::Role::kAccumulated
                                 ? fmt::format("accumulating {}", use.name)
                                 : std::string(use.name));
  taken = {.source = &use.operand, .rows = {}};
  const std::string name = fmt::format("{} row", use.name);
  ForEachDynamicRow(use.operand, *use.rows, *use.offset, memory_,
                    [&](std::int64_t p, const isa::Operand& row) {
                      Read(row, name);
                      taken.rows.push_back(p);
                    });
}

void MemoryChecker::WriteUse(const isa::OperandUse& use, const RowsTaken& taken) {
  if (use.use.role == isa::Role::kOrdered)
    return;
  if (isa::IsScale(use.use.role))
    return isa::ForEachScaleQuadrant(use.operand, [&](const isa::Operand& rows) { Write(rows); });
  if (use.dynamic())
    return ForEachDynamicRow(use.operand, *use.rows, *use.offset, memory_,
                             [&](std::int64_t, const isa::Operand& row) { Write(row); });
  if (taken.source == nullptr)
    return Write(use.operand);
  // A row that was skipped leaves its place as it was.
  for (const std::int64_t p : taken.rows)
    Write(taken.source->partitions == use.operand.partitions ? Lane(use.operand, p) : use.operand);
}

void MemoryChecker::Check(const isa::Body& body) {
  // Indices first: they say which rows are read.
  isa::ForEachOperand(body, [&](const isa::OperandUse& use) {
    if (use.use.role == isa::Role::kIndex)
      Read(use.operand, use.name);
  });
  RowsTaken taken;
  isa::ForEachOperand(body, [&](const isa::OperandUse& use) {
    if (isa::Reads(use.use.role))
      ReadUse(use, taken);
  });
  isa::ForEachOperand(body, [&](const isa::OperandUse& use) {
    if (isa::Writes(use.use.role))
      WriteUse(use, taken);
  });
}

void MemoryChecker::Observe(const isa::Instruction& instruction, const std::string& when) {
  position_ = instruction.id;
  try {
    Check(instruction.body);
  } catch (const SimError& error) {
    throw SimError("instruction {} ({}) on core {}: {} {}", instruction.id,
                   isa::OpcodeOf(instruction), instruction.core, error.what(), when);
  }
}

}  // namespace bwmm::ops
