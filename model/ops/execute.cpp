#include "model/ops/execute.h"

#include "model/isa/operand_use.h"
#include "model/ops/dma_ops.h"
#include "model/ops/operand_view.h"
#include "model/ops/row_copy.h"
#include "model/ops/tensor_ops.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {
namespace {

// An instruction of ops has an overload of ops::Execute, or this does not compile.
struct Executable {
  CoreMemory& memory;

  template <typename Op>
  void operator()(const Op& op) const {
    if constexpr (Op::kTraits.owner == isa::Owner::kOps)
      ops::Execute(op, memory);
    else
      Check(false, "PE, meeting and register instructions are executed by their owner");
  }
};

}  // namespace

bool IsControl(const isa::Instruction& instruction) {
  return isa::TraitsOf(instruction.body).control == isa::Control::kOnInt32 &&
         isa::OnIntegers(instruction.body);
}

void Execute(const isa::Instruction& instruction, CoreMemory& memory) {
  if (memory.control_only && !IsControl(instruction))
    return;
  try {
    std::visit(Executable{memory}, instruction.body);
  } catch (const SimError& error) {
    throw SimError("instruction {} ({}) on core {}: {}", instruction.id, isa::OpcodeOf(instruction),
                   instruction.core, error.what());
  }
}

bool IsSkipped(const isa::DmaCopy& copy, CoreMemory& memory) {
  for (const auto* offset : {&copy.src_offset, &copy.dst_offset}) {
    if (!*offset || (*offset)->oob != isa::OutOfBounds::kSkip)
      continue;
    const auto index = static_cast<std::uint32_t>(ReadInt32((*offset)->index, memory));
    if (static_cast<std::int64_t>(index) >= (*offset)->limit)
      return true;
  }
  return false;
}

DmaTraffic TrafficOf(const isa::DmaCopy& copy, CoreMemory& memory) {
  DmaTraffic traffic;
  const auto& rows = copy.scatter ? copy.scatter : copy.gather;
  const std::int64_t all = std::max(copy.src.partitions, copy.dst.partitions);
  if (IsSkipped(copy, memory)) {
    traffic.rows_skipped = all;
    return traffic;
  }
  for (std::int64_t p = 0; p < all; ++p) {
    if (!rows) {
      traffic.lanes.push_back(static_cast<int>(p));
      continue;
    }
    isa::Operand lane = rows->index;
    lane.partition += static_cast<int>(p);
    lane.partitions = 1;
    const auto index = static_cast<std::uint32_t>(ReadInt32(lane, memory));
    if (static_cast<std::int64_t>(index) < rows->rows)
      traffic.lanes.push_back(static_cast<int>(p));
    else
      ++traffic.rows_skipped;
  }
  return traffic;
}

std::int32_t ReadInt32(const isa::Operand& operand, CoreMemory& memory) {
  Check(operand.dtype == DType::kInt32, "an index is int32");
  OperandView view(operand, memory);
  const std::byte* row = view.Row(0);
  Check(row != nullptr, "index tensors carry data at every fidelity");
  return *reinterpret_cast<const std::int32_t*>(row);
}

void CopyAcross(const isa::Operand& src, CoreMemory& from, const isa::Operand& dst,
                CoreMemory& to) {
  Check(src.dtype == dst.dtype && src.partitions == dst.partitions &&
            src.free_size() == dst.free_size(),
        "sendrecv moves between tiles of one shape and type");
  OperandView source(src, from), target(dst, to);
  const RowCopy copy(dst, src);
  for (std::int64_t p = 0; p < src.partitions; ++p)
    copy(target.Row(p), source.Row(p));
}

}  // namespace bwmm::ops
