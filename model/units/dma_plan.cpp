#include "model/units/dma_plan.h"

#include <algorithm>

#include "model/support/check.h"

namespace bwmm::units {
namespace {

using isa::Memory;
using isa::Operand;

// Parts of a run within HBM are not cut below this.
constexpr std::int64_t kMinPieceBytes = 512;

std::int64_t CeilDiv(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// Elements that are contiguous in memory, across rows where HBM rows follow each other.
std::int64_t RunOf(const Operand& operand, bool rows_apart) {
  const std::int64_t run = operand.contiguous_run();
  const bool joined = operand.memory == Memory::kHbm && !rows_apart && operand.partitions > 1 &&
                      run == operand.free_size() && operand.partition_stride == run;
  return joined ? run * operand.partitions : run;
}

struct Transfer {
  const Operand* dst = nullptr;
  std::vector<const Operand*> sources;
  bool gather = false;
  bool scatter = false;
  const std::vector<int>* lanes = nullptr;  // of a gather or scatter
  std::int64_t moved = 0;                   // elements, of each source
  std::int64_t percent = 100;
};

// How many equal units the transfer has and which engine takes unit u.
struct Split {
  std::int64_t units = 1;
  std::int64_t run = 1;  // elements per descriptor
  int first_partition = 0;
  int last_partition = 0;
  bool by_partition = false;
  const std::vector<int>* lanes = nullptr;  // one unit each

  int EngineOf(std::int64_t unit, const DmaShape& shape) const {
    if (!by_partition)
      return static_cast<int>(units <= shape.engines ? unit : unit * shape.engines / units);
    const std::int64_t per_engine = CeilDiv(shape.partitions, shape.engines);
    const std::int64_t lane = lanes ? (*lanes)[unit] : unit;
    // A source of one partition gives all lanes.
    return static_cast<int>(std::min<std::int64_t>(first_partition + lane, last_partition) /
                            per_engine);
  }
};

Split SplitOf(const Transfer& t, const DmaShape& shape) {
  Split split;
  split.run = RunOf(*t.dst, t.scatter);
  const Operand* sbuf = t.dst->memory == Memory::kSbuf ? t.dst : nullptr;
  for (const Operand* source : t.sources) {
    split.run = std::min(split.run, RunOf(*source, t.gather));
    if (!sbuf && source->memory == Memory::kSbuf)
      sbuf = source;
  }
  split.lanes = t.lanes;
  if (t.lanes)
    split.units = static_cast<std::int64_t>(t.lanes->size());
  if (sbuf) {
    split.by_partition = true;
    split.first_partition = sbuf->partition;
    split.last_partition = sbuf->partition + static_cast<int>(sbuf->partitions) - 1;
    split.run = std::min(split.run, sbuf->free_size());
    if (!t.lanes)
      split.units = sbuf->partitions;
  }
  if (sbuf || t.lanes)
    return split;
  const std::int64_t descriptors = CeilDiv(t.dst->elements(), split.run);
  const std::int64_t pieces =
      std::clamp<std::int64_t>(t.dst->bytes() / kMinPieceBytes, 1, shape.engines);
  split.units = std::max(descriptors, pieces);
  split.run = std::min(split.run, CeilDiv(t.dst->elements(), split.units));
  return split;
}

std::uint64_t AddressOf(const Operand& operand, std::int64_t element, bool table) {
  if (table)
    return operand.offset;
  const std::int64_t row = element / operand.free_size();
  const std::int64_t stride = operand.partitions > 1 ? operand.partition_stride : 0;
  return operand.offset + static_cast<std::uint64_t>(row * stride * SizeOf(operand.dtype));
}

std::vector<DmaPart> Plan(const Transfer& t, const DmaShape& shape) {
  const Split split = SplitOf(t, shape);
  std::vector<DmaPart> parts;
  for (std::int64_t unit = 0; unit < split.units;) {
    const int engine = split.EngineOf(unit, shape);
    std::int64_t next = unit + 1;
    while (next < split.units && split.EngineOf(next, shape) == engine)
      ++next;
    const std::int64_t from = t.moved * unit / split.units;
    const std::int64_t elements = t.moved * next / split.units - from;
    unit = next;
    if (elements == 0)
      continue;
    DmaPart part{.engine = engine};
    std::int64_t widest = SizeOf(t.dst->dtype);
    for (const Operand* source : t.sources) {
      const std::int64_t bytes = elements * SizeOf(source->dtype);
      widest = std::max<std::int64_t>(widest, SizeOf(source->dtype));
      if (source->memory == Memory::kHbm) {
        part.hbm_read += bytes;
        part.read_address = AddressOf(*source, from, t.gather);
      }
    }
    if (t.dst->memory == Memory::kHbm) {
      part.hbm_write = elements * SizeOf(t.dst->dtype);
      part.write_address = AddressOf(*t.dst, from, t.scatter);
    }
    const auto sources = static_cast<std::int64_t>(t.sources.size());
    part.bytes = CeilDiv(elements * widest * sources * 100, t.percent);
    part.descriptors = CeilDiv(elements, split.run) * sources;
    parts.push_back(part);
  }
  return parts;
}

// What each DMA moves.
struct TransferOf {
  const std::vector<int>& lanes;
  const DmaShape& shape;

  Transfer operator()(const isa::DmaCopy& i) const {
    Transfer t{.dst = &i.dst,
               .sources = {&i.src},
               .gather = i.gather.has_value(),
               .scatter = i.scatter.has_value(),
               .moved = i.dst.elements()};
    if (t.gather || t.scatter) {
      t.lanes = &lanes;
      t.moved = static_cast<std::int64_t>(lanes.size()) * (t.gather ? i.src : i.dst).free_size();
    }
    return t;
  }
  Transfer operator()(const isa::DmaCompute& i) const {
    Transfer t{
        .dst = &i.dst, .sources = {}, .moved = i.dst.elements(), .percent = shape.compute_percent};
    for (const Operand& source : i.sources)
      t.sources.push_back(&source);
    return t;
  }
  // The peer's destination has the shape of the source.
  Transfer operator()(const isa::SendRecv& i) const {
    return {.dst = &i.src, .sources = {&i.src}, .moved = i.src.elements()};
  }
};

// What the DMA unit completes has a line above, or this does not compile.
struct Line {
  const TransferOf& transfer;

  template <typename Op>
  Transfer operator()(const Op& op) const {
    if constexpr (Op::kTraits.unit == isa::Unit::kDma) {
      return transfer(op);
    } else {
      Check(false, "only DMAs are planned");
      return {};
    }
  }
};

}  // namespace

std::vector<DmaPart> PlanTransfer(const isa::Instruction& instruction,
                                  const std::vector<int>& lanes, const DmaShape& shape) {
  const TransferOf transfer{lanes, shape};
  return Plan(std::visit(Line{transfer}, instruction.body), shape);
}

std::int64_t TurnsOf(const DmaPart& part, std::int64_t most) {
  return std::max<std::int64_t>(CeilDiv(part.bytes, most), 1);
}

DmaPart TurnOf(const DmaPart& part, std::int64_t turn, std::int64_t turns) {
  DmaPart share = part;
  for (const auto field :
       {&DmaPart::bytes, &DmaPart::descriptors, &DmaPart::hbm_read, &DmaPart::hbm_write})
    share.*field = part.*field * (turn + 1) / turns - part.*field * turn / turns;
  share.read_address += part.hbm_read * turn / turns;
  share.write_address += part.hbm_write * turn / turns;
  return share;
}

}  // namespace bwmm::units
