#include "model/isa/access.h"

#include <array>

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
  void Read(const Operand& operand) { Add(operand, false, false); }
  void Write(const Operand& operand) { Add(operand, true, false); }
  void Index(const Operand& operand) { Add(operand, false, true); }
  void Read(const std::optional<Operand>& operand) {
    if (operand)
      Read(*operand);
  }
  void Read(const ScalarArg& scalar) {
    if (const auto* operand = std::get_if<Operand>(&scalar))
      Read(*operand);
  }
  // Four scale rows at the start of each 32-partition quadrant.
  void ReadScale(const std::optional<Operand>& scale) {
    if (scale)
      AddScale(*scale, false);
  }
  void WriteScale(const Operand& scale) { AddScale(scale, true); }

  void Dynamic(const Operand& operand, const std::optional<VectorOffset>& rows,
               const std::optional<ScalarOffset>& offset, bool write) {
    Operand table = operand;
    if (rows) {
      Index(rows->index);
      table.partitions = rows->rows;
      table.partition_stride = rows->row_stride;
    }
    if (offset) {
      Index(offset->index);
      Region box{.memory = Memory::kHbm, .begin = table.offset};
      box.end = table.offset + ((offset->limit - 1) * offset->stride + Pattern(table).span()) *
                                   SizeOf(table.dtype);
      accesses_.push_back({.region = box, .write = write});
      return;
    }
    Add(table, write, false);
  }

  std::vector<Access> Take() { return std::move(accesses_); }

 private:
  void Add(const Operand& operand, bool write, bool index) {
    regions_.clear();
    AppendRegions(operand, regions_);
    for (const Region& region : regions_)
      accesses_.push_back({.region = region, .write = write, .index = index});
  }
  void AddScale(const Operand& scale, bool write) {
    for (int quadrant = 0; quadrant * 32 < scale.partitions; ++quadrant) {
      Operand rows = scale;
      rows.partition = scale.partition + 32 * quadrant;
      rows.partitions = 4;
      Add(rows, write, false);
    }
  }

  std::vector<Access> accesses_;
  std::vector<Region> regions_;
};

struct Visitor {
  Collector& c;

  void operator()(const LoadStationary& i) const {
    c.Read(i.stationary);
    c.ReadScale(i.scale);
  }
  void operator()(const MultiplyMoving& i) const {
    if (i.mode != PeMode::kTranspose)
      c.Read(i.moving);
    c.ReadScale(i.scale);
    if (i.accumulate)
      c.Read(i.dst);
    c.Write(i.dst);
  }
  void operator()(const QuantizeMx& i) const {
    c.Read(i.src);
    c.Write(i.dst);
    c.WriteScale(i.dst_scale);
  }
  void operator()(const ActivationOp& i) const {
    c.Read(i.src);
    c.Read(i.bias);
    c.Write(i.dst);
  }
  void operator()(const TensorTensor& i) const {
    c.Read(i.a);
    c.Read(i.b);
    c.Write(i.dst);
  }
  void operator()(const TensorScalar& i) const {
    c.Read(i.src);
    c.Read(i.scalar0);
    c.Read(i.scalar1);
    c.Write(i.dst);
  }
  void operator()(const ScalarTensorTensor& i) const {
    c.Read(i.data);
    c.Read(i.scalar);
    c.Read(i.tensor);
    c.Write(i.dst);
  }
  void operator()(const TensorReduce& i) const {
    c.Read(i.src);
    c.Write(i.dst);
  }
  void operator()(const TensorCopy& i) const {
    c.Read(i.src);
    c.Write(i.dst);
  }
  void operator()(const Memset& i) const { c.Write(i.dst); }
  void operator()(const Iota& i) const { c.Write(i.dst); }
  void operator()(const DmaCopy& i) const {
    c.Dynamic(i.src, i.gather, i.src_offset, false);
    c.Dynamic(i.dst, i.scatter, i.dst_offset, true);
  }
  void operator()(const DmaCompute& i) const {
    for (const Operand& source : i.sources)
      c.Read(source);
    c.Write(i.dst);
  }
  void operator()(const SendRecv& i) const {
    c.Read(i.src);
    c.Write(i.dst);
  }
  void operator()(const CoreBarrier& i) const {
    c.Read(i.data);
    c.Write(i.data);
  }
  void operator()(const RegisterLoad& i) const { c.Read(i.src); }
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
  std::visit(Visitor{collector}, instruction.body);
  return collector.Take();
}

}  // namespace bwmm::isa
