#include "model/isa/access.h"

#include "model/isa/operand_use.h"

namespace bwmm::isa {
namespace {

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
      const Region first = RegionOf(table);
      Region box{.memory = Memory::kHbm, .begin = first.begin};
      box.end = first.end + (offset.limit - 1) * offset.stride * SizeOf(table.dtype);
      accesses_.push_back({.region = box, .write = write});
      return;
    }
    Add(table, write, use.use.role == Role::kIndex);
  }

  std::vector<Access> Take() { return std::move(accesses_); }

 private:
  void Add(const Operand& operand, bool write, bool index) {
    accesses_.push_back({.region = RegionOf(operand), .write = write, .index = index});
  }

  std::vector<Access> accesses_;
};

}  // namespace

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
