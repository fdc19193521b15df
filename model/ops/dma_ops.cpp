#include "model/ops/dma_ops.h"

#include <optional>
#include <vector>

#include "model/ops/operand_view.h"
#include "model/ops/row_copy.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {
namespace {

bool OutOfBounds(std::int32_t index, std::int64_t limit) {
  return static_cast<std::int64_t>(static_cast<std::uint32_t>(index)) >= limit;
}

// Copies single rows between patterns of equal element count.
class RowCopier {
 public:
  RowCopier(const isa::Operand& dst, const isa::Operand& src, CoreMemory& memory)
      : memory_(memory) {
    if (dst.dtype == src.dtype)
      bits_.emplace(dst, src);
    else
      values_.resize(src.free_size());
  }

  void Copy(const isa::Operand& dst_row, const isa::Operand& src_row) {
    OperandView dst(dst_row, memory_), src(src_row, memory_);
    std::byte* to = dst.Row(0);
    const std::byte* from = src.Row(0);
    if (to == nullptr || from == nullptr)
      return;
    if (bits_) {
      (*bits_)(to, from);
    } else {
      src.Load(0, values_.data());
      dst.Store(0, values_.data());
    }
  }

 private:
  CoreMemory& memory_;
  std::optional<RowCopy> bits_;
  std::vector<float> values_;
};

isa::Operand RowOf(const isa::Operand& operand, std::int64_t p) {
  isa::Operand row = operand;
  row.partitions = 1;
  if (operand.memory == isa::Memory::kHbm)
    row.offset += p * operand.partition_stride * SizeOf(operand.dtype);
  else
    row.partition += static_cast<int>(p);
  return row;
}

}  // namespace

void ForEachDynamicRow(const isa::Operand& operand, const std::optional<isa::VectorOffset>& rows,
                       const std::optional<isa::ScalarOffset>& offset, CoreMemory& memory,
                       const std::function<void(std::int64_t, const isa::Operand&)>& f) {
  isa::Operand base = operand;
  if (offset) {
    const std::int32_t index = ReadInt32(offset->index, memory);
    if (OutOfBounds(index, offset->limit)) {
      if (offset->oob == isa::OutOfBounds::kSkip)
        return;
      throw SimError("scalar offset {} is out of bounds, allowed 0..{}, in {}", index,
                     offset->limit - 1, isa::ToText(operand));
    }
    base.offset += index * offset->stride * SizeOf(base.dtype);
  }
  for (std::int64_t p = 0; p < operand.partitions; ++p) {
    if (!rows) {
      f(p, RowOf(base, p));
      continue;
    }
    isa::Operand lane = rows->index;
    lane.partition += static_cast<int>(p);
    lane.partitions = 1;
    const std::int32_t index = ReadInt32(lane, memory);
    if (OutOfBounds(index, rows->rows)) {
      if (rows->oob == isa::OutOfBounds::kSkip)
        continue;
      throw SimError("lane {}: row index {} is out of bounds, allowed 0..{}, in {}", p, index,
                     rows->rows - 1, isa::ToText(operand));
    }
    isa::Operand row = base;
    row.partitions = 1;
    row.offset += index * rows->row_stride * SizeOf(base.dtype);
    f(p, row);
  }
}

void Execute(const isa::DmaCopy& op, CoreMemory& memory) {
  Check(op.src.free_size() == op.dst.free_size(), "a DMA copies rows of equal element count");
  Check(!(op.gather && op.scatter), "a DMA gathers or scatters, not both");
  RowCopier copier(op.dst, op.src, memory);
  if (op.scatter || op.dst_offset) {
    ForEachDynamicRow(op.dst, op.scatter, op.dst_offset, memory,
                      [&](std::int64_t p, const isa::Operand& row) {
                        copier.Copy(row, RowOf(op.src, op.src.partitions == 1 ? 0 : p));
                      });
    return;
  }
  ForEachDynamicRow(op.src, op.gather, op.src_offset, memory,
                    [&](std::int64_t p, const isa::Operand& row) {
                      const bool broadcast = op.src.partitions == 1 && op.dst.partitions > 1;
                      const std::int64_t last = broadcast ? op.dst.partitions : p + 1;
                      for (std::int64_t q = p; q < last; ++q)
                        copier.Copy(RowOf(op.dst, q), row);
                    });
}

void Execute(const isa::DmaCompute& op, CoreMemory& memory) {
  std::vector<float> sum(op.dst.free_size()), term(op.dst.free_size());
  OperandView dst(op.dst, memory);
  for (std::int64_t p = 0; p < op.dst.partitions; ++p) {
    for (std::size_t s = 0; s < op.sources.size(); ++s) {
      OperandView source(op.sources[s], memory);
      source.Load(p, s == 0 ? sum.data() : term.data());
      if (s == 0)
        continue;
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += term[i];
    }
    dst.Store(p, sum.data());
  }
}

}  // namespace bwmm::ops
