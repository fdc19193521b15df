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
    require(std::count(&map[first], &map[first] + bytes, mark) == bytes);
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

void MemoryChecker::Scale(const isa::Operand& operand, bool write) {
  for (int quadrant = 0; quadrant * 32 < operand.partitions; ++quadrant) {
    isa::Operand rows = operand;
    rows.partition += 32 * quadrant;
    rows.partitions = 4;
    if (write)
      Write(rows);
    else
      Read(rows, "scale");
  }
}

struct MemoryChecker::Visitor {
  MemoryChecker& c;

  void Read(const isa::Operand& operand, std::string_view name) const { c.Read(operand, name); }
  void Read(const isa::ScalarArg& scalar, std::string_view name) const {
    if (const auto* operand = std::get_if<isa::Operand>(&scalar))
      c.Read(*operand, name);
  }
  void Rows(const isa::Operand& operand, const std::optional<isa::VectorOffset>& rows,
            const std::optional<isa::ScalarOffset>& offset,
            const std::function<void(std::int64_t, const isa::Operand&)>& f) const {
    if (rows)
      c.Read(rows->index, "index");
    if (offset)
      c.Read(offset->index, "scalar offset");
    if (rows || offset)
      ForEachDynamicRow(operand, rows, offset, c.memory_, f);
  }

  // Row p of the operand a gather fills.
  static isa::Operand Lane(const isa::Operand& operand, std::int64_t p) {
    isa::Operand lane = operand;
    lane.partitions = 1;
    if (operand.memory == isa::Memory::kHbm)
      lane.offset += p * operand.partition_stride * SizeOf(operand.dtype);
    else
      lane.partition += static_cast<int>(p);
    return lane;
  }

  void operator()(const isa::LoadStationary& i) const {
    Read(i.stationary, "stationary");
    if (i.scale)
      c.Scale(*i.scale, false);
  }
  void operator()(const isa::MultiplyMoving& i) const {
    if (i.mode != PeMode::kTranspose)
      Read(i.moving, "moving");
    if (i.scale)
      c.Scale(*i.scale, false);
    if (i.accumulate)
      Read(i.dst, "accumulating dst");
    c.Write(i.dst);
  }
  void operator()(const isa::QuantizeMx& i) const {
    Read(i.src, "src");
    c.Write(i.dst);
    c.Scale(i.dst_scale, true);
  }
  void operator()(const isa::ActivationOp& i) const {
    Read(i.src, "src");
    if (i.bias)
      Read(*i.bias, "bias");
    c.Write(i.dst);
  }
  void operator()(const isa::TensorTensor& i) const {
    Read(i.a, "a");
    Read(i.b, "b");
    c.Write(i.dst);
  }
  void operator()(const isa::TensorScalar& i) const {
    Read(i.src, "src");
    Read(i.scalar0, "scalar0");
    Read(i.scalar1, "scalar1");
    c.Write(i.dst);
  }
  void operator()(const isa::ScalarTensorTensor& i) const {
    Read(i.data, "data");
    Read(i.scalar, "scalar");
    Read(i.tensor, "tensor");
    c.Write(i.dst);
  }
  void operator()(const isa::TensorReduce& i) const {
    Read(i.src, "src");
    c.Write(i.dst);
  }
  void operator()(const isa::TensorCopy& i) const {
    Read(i.src, "src");
    c.Write(i.dst);
  }
  void operator()(const isa::Memset& i) const { c.Write(i.dst); }
  void operator()(const isa::Iota& i) const { c.Write(i.dst); }
  void operator()(const isa::DmaCopy& i) const {
    if (i.gather || i.src_offset) {
      Rows(i.src, i.gather, i.src_offset, [&](std::int64_t p, const isa::Operand& row) {
        Read(row, "src row");
        c.Write(i.src.partitions == i.dst.partitions ? Lane(i.dst, p) : i.dst);
      });
    } else {
      Read(i.src, "src");
    }
    if (i.scatter || i.dst_offset) {
      Rows(i.dst, i.scatter, i.dst_offset,
           [&](std::int64_t, const isa::Operand& row) { c.Write(row); });
    } else if (!i.gather && !i.src_offset) {
      c.Write(i.dst);
    }
  }
  void operator()(const isa::DmaCompute& i) const {
    for (const isa::Operand& source : i.sources)
      Read(source, "source");
    c.Write(i.dst);
  }
  void operator()(const isa::SendRecv& i) const {
    Read(i.src, "src");
    c.Write(i.dst);
  }
  void operator()(const isa::CoreBarrier&) const {}
  void operator()(const isa::RegisterLoad& i) const { Read(i.src, "src"); }
};

void MemoryChecker::Observe(const isa::Instruction& instruction, const std::string& when) {
  position_ = instruction.id;
  try {
    std::visit(Visitor{*this}, instruction.body);
  } catch (const SimError& error) {
    throw SimError("instruction {} ({}) on core {}: {} {}", instruction.id,
                   isa::OpcodeOf(instruction), instruction.core, error.what(), when);
  }
}

}  // namespace bwmm::ops
