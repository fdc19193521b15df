// The element operations of tensor_tensor, tensor_scalar, scalar_tensor_tensor and tensor_reduce.
// max and min give NaN when either side is NaN; is_equal gives 1 or 0.
#pragma once

#include <cstdint>
#include <limits>

#include "model/isa/instruction.h"

namespace bwmm::ops {

inline float AluMax(float a, float b) {
  return a != a ? a : (b != b ? b : (a > b ? a : b));
}
inline float AluMin(float a, float b) {
  return a != a ? a : (b != b ? b : (a < b ? a : b));
}
inline std::int64_t AluMax(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
inline std::int64_t AluMin(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

inline float AluMultiply(float a, float b) {
  return a * b;
}
// Saturates: a product of three int32 values leaves 64 bits. Sums of int32 values do not.
inline std::int64_t AluMultiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product))
    return product;
  using Int64 = std::numeric_limits<std::int64_t>;
  return (a < 0) == (b < 0) ? Int64::max() : Int64::min();
}

// values[i] = values[i] op b(i), one tight loop per operation.
template <typename T, typename B>
void ApplyAlu(isa::AluOp op, T* values, std::int64_t count, B b) {
  switch (op) {
    case isa::AluOp::kAdd:
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = values[i] + b(i);
      return;
    case isa::AluOp::kSubtract:
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = values[i] - b(i);
      return;
    case isa::AluOp::kMultiply:
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = AluMultiply(values[i], b(i));
      return;
    case isa::AluOp::kMax:
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = AluMax(values[i], b(i));
      return;
    case isa::AluOp::kMin:
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = AluMin(values[i], b(i));
      return;
    case isa::AluOp::kIsEqual:
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = values[i] == b(i) ? T{1} : T{0};
      return;
  }
}

}  // namespace bwmm::ops
