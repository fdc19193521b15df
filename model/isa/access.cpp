#include "model/isa/access.h"

#include <array>

#include "model/isa/operand_use.h"
#include "model/isa/pattern.h"

namespace bwmm::isa {
namespace {

constexpr int kMaxRuns = 16;

// The dimensions of one region list, outermost first: the free ones, and before them HBM's rows.
struct Pattern {
  static constexpr int kMaxRank = Operand::kMaxRank + 1;

  explicit Pattern(const Operand& operand) {
    if (operand.memory == Memory::kHbm && operand.partitions > 1)
      dims[rank++] = {.size = operand.partitions, .stride = operand.partition_stride};
    for (const Dim& dim : FreeDims(operand))
      dims[rank++] = dim;
  }

  std::span<const Dim> all() const { return std::span(dims).first(rank); }

  // Elements from the first to one past the last.
  std::int64_t span() const {
    std::int64_t last = 0;
    for (const Dim& dim : all())
      last += (dim.size - 1) * dim.stride;
    return last + 1;
  }

  int rank = 0;
  std::array<Dim, kMaxRank> dims{};
};

class Collector {
 public:
  void Add(const OperandUse& use, bool write) {
    if (IsScale(use.use.role)) {
      ForEachScaleQuadrant(use.operand, [&](const Operand& rows) { Add(rows, write, false); });
      return;
    }
    Operand table = use.operand;
    if (use.rows && *use.rows) {
      table.partitions = (*use.rows)->rows;
      table.partition_stride = (*use.rows)->row_stride;
    }
    if (use.offset && *use.offset) {
      const ScalarOffset& offset = **use.offset;
      Region box{.memory = Memory::kHbm, .begin = table.offset};
      box.end = table.offset +
                ((offset.limit - 1) * offset.stride + Pattern(table).span()) * SizeOf(table.dtype);
      accesses_.push_back({.region = box, .write = write});
      return;
    }
    Add(table, write, use.use.role == Role::kIndex);
  }

  std::vector<Access> Take() { return std::move(accesses_); }

 private:
  void Add(const Operand& operand, bool write, bool index) {
    regions_.clear();
    AppendRegions(operand, regions_);
    for (const Region& region : regions_)
      accesses_.push_back({.region = region, .write = write, .index = index});
  }

  std::vector<Access> accesses_;
  std::vector<Region> regions_;
};

}  // namespace

void AppendRegions(const Operand& operand, std::vector<Region>& regions) {
  Pattern flat(operand);
  const int bytes = SizeOf(operand.dtype);
  Region region{.memory = operand.memory};
  if (operand.memory != Memory::kHbm) {
    region.partition = operand.partition;
    region.partition_end = operand.partition + static_cast<int>(operand.partitions);
  }
  const Lines lines = DenseLines(flat.all());
  // Bytes read twice are one region.
  for (int i = 0; i < lines.outer; ++i)
    flat.dims[i].size = flat.dims[i].stride == 0 ? 1 : flat.dims[i].size;
  const std::span<const Dim> outer = flat.all().first(lines.outer);
  std::int64_t runs = 1;
  for (const Dim& dim : outer)
    runs *= dim.size;
  if (runs > kMaxRuns) {
    region.begin = operand.offset;
    region.end = operand.offset + flat.span() * bytes;
    regions.push_back(region);
    return;
  }
  ForEachIndex(outer, [&](std::int64_t element) {
    region.begin = operand.offset + element * bytes;
    region.end = region.begin + lines.count * bytes;
    regions.push_back(region);
  });
}

std::vector<Access> AccessesOf(const Instruction& instruction) {
  Collector collector;
  ForEachOperand(instruction.body, [&](const OperandUse& use) {
    if (Reads(use.use.role))
      collector.Add(use, false);
  });
  ForEachOperand(instruction.body, [&](const OperandUse& use) {
    if (Writes(use.use.role))
      collector.Add(use, true);
  });
  return collector.Take();
}

}  // namespace bwmm::isa
