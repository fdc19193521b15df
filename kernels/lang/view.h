// View: a tensor in HBM, SBUF or PSUM as a kernel sees it. Dimension 0 is the partition dimension
// (rows in HBM); the others are free dimensions. Slicing never copies.
//
//   t.Slice(0, 32, 16)   partitions 32..47          t.Slice(2, 0, 64)   64 of dimension 2
//   t.Pick(1, i)         index i of dimension 1, which disappears
//   t.Permuted({..})     other order of the free dimensions
//   t.As(DType::kInt32)  the same bytes as another type of the same size
//
// A wrong dimension or range is a SimError that names the tensor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "kernels/lang/allocator.h"
#include "model/isa/instruction.h"

namespace bwmm::lang {

class View {
 public:
  View() = default;
  View(std::string name, isa::Operand operand) : name_(std::move(name)), operand_(operand) {}
  // Of a tile: range `serial` of `allocator`.
  View(std::string name, isa::Operand operand, const Allocator& allocator, std::uint64_t serial)
      : name_(std::move(name)), operand_(operand), allocator_(&allocator), serial_(serial) {}

  const std::string& name() const { return name_; }
  // SimError when the tile is gone: its bytes may be another tile's by now.
  const isa::Operand& operand() const {
    if (allocator_ != nullptr && !allocator_->IsLive(serial_))
      Refuse("used after its tile");
    return operand_;
  }
  operator const isa::Operand&() const { return operand(); }  // instructions take operands

  DType dtype() const { return operand_.dtype; }
  int rank() const { return 1 + operand_.rank; }
  std::int64_t size(int dim) const;
  std::int64_t free_size() const { return operand_.free_size(); }

  View Slice(int dim, std::int64_t begin, std::int64_t count) const;
  View Pick(int dim, std::int64_t index) const;  // dim >= 1
  // Free dimensions in another order: {2, 1} makes dimension 2 the first free one.
  View Permuted(std::initializer_list<int> free_dims) const;
  // One free dimension of `outer * inner` split in two.
  View Split(int dim, std::int64_t inner) const;
  // [P, free_size] when the free dimensions are dense.
  View Flat() const;
  View As(DType dtype) const;
  // The same bytes as elements of another size: the last free dimension is dense and grows or
  // shrinks.
  View Retyped(DType dtype) const;
  // [P, 1] seen as [P, count], the element repeated.
  View Repeated(std::int64_t count) const;
  // Rows of an HBM view dealt to partitions: [outer * rows, ...] becomes [rows, outer, ...], row
  // r of group g being row g * rows + r.
  View SplitRows(std::int64_t rows) const;
  // The rows `index` names, for dma_copy's gather (this view is the source) or scatter (the
  // destination).
  isa::VectorOffset RowsAt(const View& index,
                           isa::OutOfBounds oob = isa::OutOfBounds::kError) const;

 private:
  [[noreturn]] void Refuse(const std::string& why) const;

  std::string name_;
  isa::Operand operand_;
  const Allocator* allocator_ = nullptr;
  std::uint64_t serial_ = 0;
};

// "[128, 64]", for errors.
std::string ShapeText(const std::vector<std::int64_t>& shape);

// An HBM tensor of any rank; row-major. Kernels turn it into views.
struct HbmTensor {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<std::int64_t> shape;
  std::uint64_t address = 0;

  std::int64_t stride(int dim) const;  // elements
  // The sub-tensor at leading indices `at`: [shape[n], shape[n + 1], ...]; its first dimension
  // becomes dimension 0 of the view.
  View At(std::initializer_list<std::int64_t> at = {}) const;
  // [rows, columns] over all elements in order.
  View Rows(std::int64_t columns) const;
  // A window of a one-dimensional tensor read column by column: element (p, c) of the
  // [rows, columns] view is element begin + c * rows + p.
  View Columns(std::int64_t begin, std::int64_t rows, std::int64_t columns) const;
  // The same elements under another shape.
  HbmTensor Reshaped(std::vector<std::int64_t> new_shape) const;
  // dma_copy's src_offset for At({i}) with i read on the device.
  isa::ScalarOffset Offset(const View& index,
                           isa::OutOfBounds oob = isa::OutOfBounds::kError) const;
};

}  // namespace bwmm::lang
