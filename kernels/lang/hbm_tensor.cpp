// Views of a tensor in HBM: which elements, in rows. What they then are is view.cpp.
#include "kernels/lang/view.h"
#include "model/support/sim_error.h"

namespace bwmm::lang {
namespace {

[[noreturn]] void Refuse(const HbmTensor& tensor, const std::string& why) {
  throw SimError("tensor {}: {}; its shape is {}", tensor.name, why, ShapeText(tensor.shape));
}

std::int64_t ElementsOf(const HbmTensor& tensor) {
  return tensor.shape.empty() ? 1 : tensor.shape[0] * tensor.stride(0);
}

}  // namespace

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return "[" + text + "]";
}

std::int64_t HbmTensor::stride(int dim) const {
  std::int64_t stride = 1;
  for (int i = static_cast<int>(shape.size()) - 1; i > dim; --i)
    stride *= shape[i];
  return stride;
}

View HbmTensor::At(std::initializer_list<std::int64_t> at) const {
  if (at.size() >= shape.size())
    Refuse(*this, fmt::format("view at {} indices, allowed fewer than it has dimensions, {}",
                              at.size(), shape.size()));
  isa::Operand o{.memory = isa::Memory::kHbm, .dtype = dtype, .offset = address};
  int dim = 0;
  for (const std::int64_t index : at) {
    if (index < 0 || index >= shape[dim])
      throw SimError("tensor {}: index {} of dimension {}, allowed 0..{}", name, index, dim,
                     shape[dim] - 1);
    o.offset += index * stride(dim) * SizeOf(dtype);
    ++dim;
  }
  o.partitions = shape[dim];
  o.partition_stride = stride(dim);
  o.rank = static_cast<int>(shape.size()) - dim - 1;
  if (o.rank > isa::Operand::kMaxRank)
    Refuse(*this, fmt::format("view of {} free dimensions, allowed up to {}", o.rank,
                              isa::Operand::kMaxRank));
  for (int i = 0; i < o.rank; ++i)
    o.dims[i] = {.size = shape[dim + 1 + i], .stride = stride(dim + 1 + i)};
  return View(name, o);
}

View HbmTensor::Rows(std::int64_t columns) const {
  const std::int64_t elements = ElementsOf(*this);
  if (columns < 1 || elements % columns != 0)
    Refuse(*this,
           fmt::format("rows of {}, allowed what divides its {} elements", columns, elements));
  isa::Operand o{.memory = isa::Memory::kHbm,
                 .dtype = dtype,
                 .partitions = elements / columns,
                 .partition_stride = columns,
                 .offset = address,
                 .rank = 1};
  o.dims[0] = {.size = columns, .stride = 1};
  return View(name, o);
}

View HbmTensor::Columns(std::int64_t begin, std::int64_t rows, std::int64_t columns) const {
  const auto fits = [&] {
    const std::int64_t left = shape[0] - begin;
    return begin >= 0 && rows >= 1 && columns >= 1 && left >= rows && columns <= left / rows;
  };
  if (shape.size() != 1 || !fits())
    Refuse(*this, fmt::format("{} columns of {} from element {}, allowed a window of a vector",
                              columns, rows, begin));
  isa::Operand o{.memory = isa::Memory::kHbm,
                 .dtype = dtype,
                 .partitions = rows,
                 .partition_stride = 1,
                 .offset = address + begin * SizeOf(dtype),
                 .rank = 1};
  o.dims[0] = {.size = columns, .stride = rows};
  return View(name, o);
}

HbmTensor HbmTensor::Reshaped(std::vector<std::int64_t> new_shape) const {
  HbmTensor tensor = *this;
  tensor.shape = std::move(new_shape);
  if (ElementsOf(tensor) != ElementsOf(*this))
    Refuse(*this, fmt::format("reshaped to {}, allowed what has its {} elements",
                              ShapeText(tensor.shape), ElementsOf(*this)));
  return tensor;
}

isa::ScalarOffset HbmTensor::Offset(const View& index, isa::OutOfBounds oob) const {
  if (shape.empty())
    Refuse(*this, "an offset, allowed with at least one dimension");
  return {.index = index, .limit = shape[0], .stride = stride(0), .oob = oob};
}

}  // namespace bwmm::lang
