#include "model/ops/memory_check.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "model/ops/dma_ops.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {

MemoryChecker::MemoryChecker(const isa::Limits& limits, CoreMemory& memory)
    : limits_(limits),
      memory_(memory),
      sbuf_written_(limits.partitions * limits.sbuf_bytes),
      psum_written_(limits.partitions * limits.psum_banks * limits.psum_bank_bytes) {}

// Calls f(first byte, bytes) for each dense run of each partition or row: bytes of the map in SBUF
// and PSUM, addresses in HBM.
template <typename F>
void MemoryChecker::ForEachRun(const isa::Operand& operand, F f) const {
  const int bytes = SizeOf(operand.dtype);
  int outer = operand.rank;
  std::int64_t run = 1;
  while (outer > 0 && (operand.dims[outer - 1].size == 1 || operand.dims[outer - 1].stride == run))
    run *= operand.dims[--outer].size;
  std::int64_t runs = 1;
  for (int i = 0; i < outer; ++i)
    runs *= operand.dims[i].size;
  std::int64_t pitch = 0;
  if (operand.memory == isa::Memory::kHbm)
    pitch = operand.partition_stride * bytes;
  else if (operand.memory == isa::Memory::kSbuf)
    pitch = limits_.sbuf_bytes;
  else
    pitch = limits_.psum_banks * limits_.psum_bank_bytes;
  for (std::int64_t p = 0; p < operand.partitions; ++p) {
    const std::int64_t base = (operand.partition + p) * pitch + operand.offset;
    std::array<std::int64_t, isa::Operand::kMaxRank> index{};
    for (std::int64_t r = 0; r < runs; ++r) {
      std::int64_t element = 0;
      for (int i = 0; i < outer; ++i)
        element += index[i] * operand.dims[i].stride;
      f(base + element * bytes, run * bytes);
      for (int i = outer - 1; i >= 0 && ++index[i] == operand.dims[i].size; --i)
        index[i] = 0;
    }
  }
}

// Calls f(map, first word, one past the last word) for each run in a tensor that has a map.
template <typename F>
void MemoryChecker::ForEachHbmRun(const isa::Operand& operand, F f) const {
  ForEachRun(operand, [&](std::int64_t address, std::int64_t bytes) {
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
    ForEachHbmRun(operand, [&](const std::vector<bool>& map, std::int64_t first, std::int64_t end) {
      require(std::find(map.begin() + first, map.begin() + end, false) == map.begin() + end);
    });
    return;
  }
  const auto& map = operand.memory == isa::Memory::kSbuf ? sbuf_written_ : psum_written_;
  ForEachRun(operand, [&](std::int64_t first, std::int64_t bytes) {
    require(std::memchr(&map[first], 0, bytes) == nullptr);
  });
}

void MemoryChecker::Write(const isa::Operand& operand) {
  if (operand.memory == isa::Memory::kHbm) {
    ForEachHbmRun(operand, [](std::vector<bool>& map, std::int64_t first, std::int64_t end) {
      std::fill(map.begin() + first, map.begin() + end, true);
    });
    return;
  }
  auto& map = operand.memory == isa::Memory::kSbuf ? sbuf_written_ : psum_written_;
  ForEachRun(operand,
             [&](std::int64_t first, std::int64_t bytes) { std::memset(&map[first], 1, bytes); });
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
  try {
    std::visit(Visitor{*this}, instruction.body);
  } catch (const SimError& error) {
    throw SimError("instruction {} ({}) on core {}: {} {}", instruction.id,
                   isa::OpcodeOf(instruction), instruction.core, error.what(), when);
  }
}

}  // namespace bwmm::ops
