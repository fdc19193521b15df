#include "model/ops/tensor_ops.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "model/numerics/scale_group.h"
#include "model/ops/activation.h"
#include "model/ops/alu.h"
#include "model/ops/operand_view.h"
#include "model/ops/row_copy.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {
namespace {

bool IsInt(const isa::Operand& operand) {
  return operand.dtype == DType::kInt32;
}
bool IsInt(const isa::ScalarArg& scalar) {
  const auto* operand = std::get_if<isa::Operand>(&scalar);
  return operand == nullptr || IsInt(*operand);
}

// One value per partition, read once before the rows.
template <typename T>
class PartitionScalar {
 public:
  PartitionScalar(const isa::ScalarArg& scalar, std::int64_t partitions, CoreMemory& memory)
      : values_(partitions) {
    if (const auto* value = std::get_if<float>(&scalar)) {
      values_.assign(partitions, static_cast<T>(*value));
      return;
    }
    const auto& operand = std::get<isa::Operand>(scalar);
    OperandView view(operand, memory);
    for (std::int64_t p = 0; p < partitions; ++p) {
      // A scalar of one partition serves all partitions.
      const std::int64_t row = view.partitions() == 1 ? 0 : p;
      if constexpr (std::is_same_v<T, float>)
        view.Load(row, &values_[p]);
      else
        view.LoadInts(row, &values_[p]);
    }
  }
  T operator[](std::int64_t p) const { return values_[p]; }

 private:
  std::vector<T> values_;
};

template <typename T>
void LoadRow(OperandView& view, std::int64_t p, T* values) {
  if constexpr (std::is_same_v<T, float>)
    view.Load(p, values);
  else
    view.LoadInts(p, values);
}
template <typename T>
void StoreRow(OperandView& view, std::int64_t p, const T* values) {
  if constexpr (std::is_same_v<T, float>)
    view.Store(p, values);
  else
    view.StoreInts(p, values);
}

template <typename T>
void Run(const isa::TensorTensor& op, CoreMemory& memory) {
  OperandView a(op.a, memory), b(op.b, memory), dst(op.dst, memory);
  std::vector<T> x(a.free_size()), y(b.free_size());
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    LoadRow(a, p, x.data());
    LoadRow(b, p, y.data());
    ApplyAlu(op.op, x.data(), std::ssize(x), [&](std::int64_t i) { return y[i]; });
    StoreRow(dst, p, x.data());
  }
  dst.Commit();
}

template <typename T>
void Run(const isa::TensorScalar& op, CoreMemory& memory) {
  OperandView src(op.src, memory), dst(op.dst, memory);
  const PartitionScalar<T> scalar0(op.scalar0, dst.partitions(), memory);
  const PartitionScalar<T> scalar1(op.scalar1, dst.partitions(), memory);
  std::vector<T> x(src.free_size());
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    LoadRow(src, p, x.data());
    const T first = scalar0[p];
    ApplyAlu(op.op0, x.data(), std::ssize(x), [=](std::int64_t) { return first; });
    if (op.op1) {
      const T second = scalar1[p];
      ApplyAlu(*op.op1, x.data(), std::ssize(x), [=](std::int64_t) { return second; });
    }
    StoreRow(dst, p, x.data());
  }
  dst.Commit();
}

template <typename T>
void Run(const isa::ScalarTensorTensor& op, CoreMemory& memory) {
  OperandView data(op.data, memory), tensor(op.tensor, memory), dst(op.dst, memory);
  const PartitionScalar<T> scalar(op.scalar, dst.partitions(), memory);
  std::vector<T> x(data.free_size()), y(tensor.free_size());
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    LoadRow(data, p, x.data());
    LoadRow(tensor, p, y.data());
    const T factor = scalar[p];
    ApplyAlu(op.op0, x.data(), std::ssize(x), [=](std::int64_t) { return factor; });
    ApplyAlu(op.op1, x.data(), std::ssize(x), [&](std::int64_t i) { return y[i]; });
    StoreRow(dst, p, x.data());
  }
  dst.Commit();
}

}  // namespace

void Execute(const isa::TensorTensor& op, CoreMemory& memory) {
  if (IsInt(op.dst) && IsInt(op.a) && IsInt(op.b))
    Run<std::int64_t>(op, memory);
  else
    Run<float>(op, memory);
}

void Execute(const isa::TensorScalar& op, CoreMemory& memory) {
  if (IsInt(op.dst) && IsInt(op.src) && IsInt(op.scalar0) && IsInt(op.scalar1))
    Run<std::int64_t>(op, memory);
  else
    Run<float>(op, memory);
}

void Execute(const isa::ActivationOp& op, CoreMemory& memory) {
  OperandView src(op.src, memory), dst(op.dst, memory);
  const PartitionScalar<float> bias(op.bias ? isa::ScalarArg(*op.bias) : isa::ScalarArg(0.0f),
                                    dst.partitions(), memory);
  std::vector<float> x(src.free_size());
  std::vector<float> sums(op.reduce_res ? dst.partitions() : 0);
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    src.Load(p, x.data());
    // Without scale or bias the value stays as it is: -0 + 0 would lose its sign.
    if (op.scale != 1.0f || op.bias) {
      for (float& value : x)
        value = value * op.scale + bias[p];
    }
    Activate(op.function, x.data(), static_cast<int>(x.size()), x.data());
    dst.Store(p, x.data());
    for (std::size_t i = 0; op.reduce_res && i < x.size(); ++i)
      ApplyAlu(isa::AluOp::kAdd, &sums[p], 1, [&](std::int64_t) { return x[i]; });
  }
  dst.Commit();
  if (!op.reduce_res)
    return;
  OperandView result(*op.reduce_res, memory);
  for (std::int64_t p = 0; p < result.partitions(); ++p)
    result.Store(p, &sums[p]);
  result.Commit();
}

void Execute(const isa::ScalarTensorTensor& op, CoreMemory& memory) {
  if (IsInt(op.dst) && IsInt(op.data) && IsInt(op.scalar) && IsInt(op.tensor))
    Run<std::int64_t>(op, memory);
  else
    Run<float>(op, memory);
}

void Execute(const isa::TensorReduce& op, CoreMemory& memory) {
  OperandView src(op.src, memory), dst(op.dst, memory);
  const bool ints = IsInt(op.dst) && IsInt(op.src);
  std::vector<float> x(src.free_size());
  std::vector<std::int64_t> n(src.free_size());
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    if (ints) {
      src.LoadInts(p, n.data());
      for (std::size_t i = 1; i < n.size(); ++i)
        ApplyAlu(op.op, n.data(), 1, [&](std::int64_t) { return n[i]; });
      dst.StoreInts(p, n.data());
    } else {
      src.Load(p, x.data());
      for (std::size_t i = 1; i < x.size(); ++i)
        ApplyAlu(op.op, x.data(), 1, [&](std::int64_t) { return x[i]; });
      dst.Store(p, x.data());
    }
  }
  dst.Commit();
}

void Execute(const isa::TensorCopy& op, CoreMemory& memory) {
  OperandView src(op.src, memory), dst(op.dst, memory);
  if (op.src.dtype == op.dst.dtype) {
    const RowCopy copy(op.dst, op.src);
    for (std::int64_t p = 0; p < dst.partitions(); ++p)
      copy(dst.Row(p), src.Row(p));
  } else {
    std::vector<float> x(src.free_size());
    for (std::int64_t p = 0; p < dst.partitions(); ++p) {
      src.Load(p, x.data());
      dst.Store(p, x.data());
    }
  }
  dst.Commit();
}

void Execute(const isa::Memset& op, CoreMemory& memory) {
  OperandView dst(op.dst, memory);
  const bool all_zero_bits = op.value == 0.0f && !std::signbit(op.value);
  if (all_zero_bits && op.dst.contiguous_run() == op.dst.free_size()) {
    for (std::int64_t p = 0; p < dst.partitions(); ++p)
      std::memset(dst.Row(p), 0, op.dst.span_bytes());
  } else {
    const std::vector<float> x(dst.free_size(), op.value);
    for (std::int64_t p = 0; p < dst.partitions(); ++p)
      dst.Store(p, x.data());
  }
  dst.Commit();
}

void Execute(const isa::Iota& op, CoreMemory& memory) {
  OperandView dst(op.dst, memory);
  std::vector<std::int64_t> n(dst.free_size());
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    for (std::int64_t i = 0; i < std::ssize(n); ++i)
      n[i] = op.base + p * op.partition_step + i * op.free_step;
    dst.StoreInts(p, n.data());
  }
  dst.Commit();
}

void Execute(const isa::QuantizeMx& op, CoreMemory& memory) {
  OperandView src(op.src, memory), dst(op.dst, memory);
  const int rows = static_cast<int>(op.src.partitions);
  const int columns = static_cast<int>(op.dst.free_size());
  Check(memory.quantize != nullptr, "a quantize_mx implementation is attached");
  std::vector<std::uint16_t> data(static_cast<std::size_t>(rows) * columns * kMxGroup.lanes);
  const std::size_t row = std::size_t{kMxGroup.lanes} * columns;
  for (int p = 0; p < rows; ++p)
    std::memcpy(&data[p * row], src.Row(p), row * sizeof data[0]);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(rows) * columns);
  const int groups = kMxGroup.ScaleRows(rows);
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(groups) * columns);
  memory.quantize(op.src.dtype, op.dst.dtype, op.rule, data.data(), rows, columns, words.data(),
                  scales.data());
  const RowCopy store_words(op.dst, DenseRow(op.dst));
  for (int p = 0; p < rows; ++p) {
    store_words(dst.Row(p),
                reinterpret_cast<const std::byte*>(&words[std::size_t{1} * p * columns]));
  }
  const RowCopy store_scales(op.dst_scale, DenseRow(op.dst_scale));
  for (int g = 0; g < groups; ++g) {
    const int partition = op.dst_scale.partition + kMxGroup.ScaleRowPartition(g);
    store_scales(memory.sbuf.At(partition, op.dst_scale.offset, op.dst_scale.span_bytes()),
                 reinterpret_cast<const std::byte*>(&scales[std::size_t{1} * g * columns]));
  }
}

// NaN counts as -Inf. Of two equal values the first stays in front, so zeros keep their order.
void Execute(const isa::Max8& op, CoreMemory& memory) {
  OperandView src(op.src, memory), dst(op.dst, memory);
  std::vector<float> x(src.free_size());
  for (std::int64_t p = 0; p < dst.partitions(); ++p) {
    src.Load(p, x.data());
    std::array<float, isa::Max8::kLargest> largest;
    largest.fill(-std::numeric_limits<float>::infinity());
    for (const float value : x) {
      if (!(value > largest.back()))
        continue;
      std::size_t at = largest.size() - 1;
      for (; at > 0 && value > largest[at - 1]; --at)
        largest[at] = largest[at - 1];
      largest[at] = value;
    }
    dst.Store(p, largest.data());
  }
  dst.Commit();
}

}  // namespace bwmm::ops
