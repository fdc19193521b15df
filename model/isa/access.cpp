#include "model/isa/access.h"

#include <array>

#include "model/isa/operand_use.h"

namespace bwmm::isa {
namespace {

constexpr int kMaxRuns = 16;

// The dimensions of one region list, outermost first: the free ones, and before them HBM's rows.
struct Pattern {
  static constexpr int kMaxRank = Operand::kMaxRank + 1;

  explicit Pattern(const Operand& operand) {
    if (operand.memory == Memory::kHbm && operand.partitions > 1)
      dims[rank++] = {.size = operand.partitions, .stride = operand.partition_stride};
    for (int i = 0; i < operand.rank; ++i)
      dims[rank++] = operand.dims[i];
  }

  // Elements from the first to one past the last.
  std::int64_t span() const {
    std::int64_t last = 0;
    for (int i = 0; i < rank; ++i)
      last += (dims[i].size - 1) * dims[i].stride;
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
  const Pattern flat(operand);
  const int bytes = SizeOf(operand.dtype);
  Region region{.memory = operand.memory};
  if (operand.memory != Memory::kHbm) {
    region.partition = operand.partition;
    region.partition_end = operand.partition + static_cast<int>(operand.partitions);
  }
  // Dense inner part, then the outer dimensions that repeat it.
  std::int64_t run = 1;
  int outer = flat.rank;
  while (outer > 0 && (flat.dims[outer - 1].size == 1 || flat.dims[outer - 1].stride == run))
    run *= flat.dims[--outer].size;
  std::int64_t runs = 1;
  for (int i = 0; i < outer; ++i)
    runs *= flat.dims[i].stride == 0 ? 1 : flat.dims[i].size;
  if (runs > kMaxRuns) {
    region.begin = operand.offset;
    region.end = operand.offset + flat.span() * bytes;
    regions.push_back(region);
    return;
  }
  std::array<std::int64_t, Pattern::kMaxRank> index{};
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t element = 0;
    for (int i = 0; i < outer; ++i)
      element += index[i] * flat.dims[i].stride;
    region.begin = operand.offset + element * bytes;
    region.end = region.begin + run * bytes;
    regions.push_back(region);
    for (int i = outer - 1; i >= 0; --i) {
      if (flat.dims[i].stride != 0 && ++index[i] < flat.dims[i].size)
        break;
      index[i] = 0;
    }
  }
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
