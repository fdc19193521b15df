#include "kernels/lang/view.h"

#include <algorithm>
#include <array>
#include <limits>

#include "model/support/sim_error.h"

namespace bwmm::lang {

void View::Refuse(const std::string& why) const {
  throw SimError("view of {}: {}; it is {}", name_, why, isa::ToText(operand_));
}

std::int64_t View::size(int dim) const {
  if (dim < 0 || dim > operand_.rank)
    Refuse(fmt::format("dimension {} of {}", dim, rank()));
  return dim == 0 ? operand_.partitions : operand_.dims[dim - 1].size;
}

View View::Slice(int dim, std::int64_t begin, std::int64_t count) const {
  if (begin < 0 || count < 1 || begin > size(dim) || count > size(dim) - begin) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const std::int64_t last = begin > 0 && count > kMost - begin ? kMost : begin + count - 1;
    Refuse(fmt::format("slice {}..{} of dimension {} of size {}", begin, last, dim, size(dim)));
  }
  View view = *this;
  isa::Operand& o = view.operand_;
  if (dim > 0) {
    o.offset += begin * o.dims[dim - 1].stride * SizeOf(o.dtype);
    o.dims[dim - 1].size = count;
  } else {
    o.partitions = count;
    if (o.memory == isa::Memory::kHbm)
      o.offset += begin * o.partition_stride * SizeOf(o.dtype);
    else
      o.partition += static_cast<int>(begin);
  }
  return view;
}

View View::Pick(int dim, std::int64_t index) const {
  if (dim < 1)
    Refuse(fmt::format("dimension {} is not picked, allowed 1 or above", dim));
  View view = Slice(dim, index, 1);
  isa::Operand& o = view.operand_;
  for (int i = dim; i < o.rank; ++i)
    o.dims[i - 1] = o.dims[i];
  --o.rank;
  return view;
}

View View::Permuted(std::initializer_list<int> free_dims) const {
  std::array<int, isa::Operand::kMaxRank> sorted{};
  if (static_cast<int>(free_dims.size()) == operand_.rank)
    std::partial_sort_copy(free_dims.begin(), free_dims.end(), sorted.begin(), sorted.end());
  for (int i = 0; i < operand_.rank; ++i) {
    if (sorted[i] != i + 1)
      Refuse(fmt::format("an order names each dimension 1..{} once", operand_.rank));
  }
  View view = *this;
  int to = 0;
  for (const int dim : free_dims)
    view.operand_.dims[to++] = operand_.dims[dim - 1];
  return view;
}

View View::Split(int dim, std::int64_t inner) const {
  if (dim < 1 || inner < 1 || size(dim) % inner != 0)
    Refuse(fmt::format("dimension {} does not split into runs of {}", dim, inner));
  if (operand_.rank == isa::Operand::kMaxRank)
    Refuse(fmt::format("no more than {} free dimensions", isa::Operand::kMaxRank));
  View view = *this;
  isa::Operand& o = view.operand_;
  for (int i = o.rank; i >= dim; --i)
    o.dims[i] = o.dims[i - 1];
  ++o.rank;
  o.dims[dim - 1] = {.size = size(dim) / inner, .stride = o.dims[dim].stride * inner};
  o.dims[dim].size = inner;
  return view;
}

View View::Flat() const {
  if (operand_.contiguous_run() != operand_.free_size())
    Refuse("free dimensions are not dense");
  View view = *this;
  view.operand_.rank = 1;
  view.operand_.dims[0] = {.size = operand_.free_size(), .stride = 1};
  return view;
}

View View::As(DType dtype) const {
  if (SizeOf(dtype) != SizeOf(operand_.dtype))
    Refuse(fmt::format("cannot be seen as {}: element sizes differ", NameOf(dtype)));
  View view = *this;
  view.operand_.dtype = dtype;
  return view;
}

View View::Retyped(DType dtype) const {
  View view = Flat();
  isa::Operand& o = view.operand_;
  const std::int64_t bytes = o.dims[0].size * SizeOf(o.dtype);
  if (bytes % SizeOf(dtype) != 0)
    Refuse(fmt::format("{} bytes are no row of {}", bytes, NameOf(dtype)));
  o.dtype = dtype;
  o.dims[0].size = bytes / SizeOf(dtype);
  return view;
}

View View::Repeated(std::int64_t count) const {
  if (free_size() != 1)
    Refuse("only one element per partition repeats");
  View view = *this;
  view.operand_.rank = 1;
  view.operand_.dims[0] = {.size = count, .stride = 0};
  return view;
}

View View::SplitRows(std::int64_t rows) const {
  if (operand_.memory != isa::Memory::kHbm || rows < 1 || size(0) % rows != 0)
    Refuse(fmt::format("rows do not split into groups of {}", rows));
  if (operand_.rank == isa::Operand::kMaxRank)
    Refuse(fmt::format("no more than {} free dimensions", isa::Operand::kMaxRank));
  View view = *this;
  isa::Operand& o = view.operand_;
  for (int i = o.rank; i > 0; --i)
    o.dims[i] = o.dims[i - 1];
  ++o.rank;
  o.dims[0] = {.size = size(0) / rows, .stride = rows * o.partition_stride};
  o.partitions = rows;
  return view;
}

isa::VectorOffset View::RowsAt(const View& index, isa::OutOfBounds oob) const {
  return {.index = index,
          .rows = operand_.partitions,
          .row_stride = operand_.partition_stride,
          .oob = oob};
}

}  // namespace bwmm::lang
