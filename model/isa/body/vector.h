// Instructions of the Vector, Scalar and GpSimd engines. Rules are what their descriptions do not
// say; `check` is Validate's.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "model/isa/activation.h"
#include "model/isa/body/quantize_mx.h"
#include "model/isa/description.h"
#include "model/isa/operand.h"

namespace bwmm::isa {

enum class AluOp : std::uint8_t { kAdd, kSubtract, kMultiply, kMax, kMin, kIsEqual };
inline constexpr int kAluOps = 6;

// A scalar operand: a constant, or one value per partition ([P, 1], widened to fp32).
using ScalarArg = std::variant<float, Operand>;

inline constexpr Use kLocalDst{Role::kWritten, Place::kLocal};
inline constexpr Use kLocalSrc{Role::kRead, Place::kLocal};
inline constexpr Use kSrcLikeDst{Role::kRead, Place::kLocal, Shape::kOfDst};
inline constexpr Use kScalarPerPartition{Role::kRead, Place::kLocal, Shape::kPerPartition};

// dst = function(src * scale + bias); reduce_res = the sum of dst's elements before their rounding
struct ActivationOp {
  Activation function = Activation::kIdentity;
  Operand dst;
  Operand src;
  float scale = 1.0f;
  std::optional<Operand> bias = std::nullopt;        // [P, 1]
  std::optional<Operand> reduce_res = std::nullopt;  // [P, 1], ScalarEngine

  static constexpr Traits kTraits{"activation", kAnyQueue, Owner::kOps, Control::kNever};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Field("function", i.function);
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("src", kSrcLikeDst, i.src);
    v.Field("scale", i.scale);
    v.Operand("bias", kScalarPerPartition, i.bias);
    v.Operand("reduce_res", kLocalDst, i.reduce_res);
  }
  template <typename Check>
  void Rules(const Check& check) const {
    if (!reduce_res)
      return;
    if (check.engine() != Engine::kScalar)
      check.Refuse("only the scalar engine has registers to reduce in");
    check.InEachPartition(*reduce_res, "one element", 1, src);
  }
};

// dst = a op b
struct TensorTensor {
  AluOp op = AluOp::kAdd;
  Operand dst;
  Operand a;
  Operand b;

  static constexpr Traits kTraits{"tensor_tensor", kAnyQueue, Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Field("op", i.op);
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("a", kSrcLikeDst, i.a);
    v.Operand("b", kSrcLikeDst, i.b);
  }
  template <typename Check>
  void Rules(const Check& check) const {
    if (a.memory == Memory::kPsum && b.memory == Memory::kPsum)
      check.Refuse("at most one input may be in PSUM");
  }
};

// dst = (src op0 scalar0) op1 scalar1
struct TensorScalar {
  Operand dst;
  Operand src;
  AluOp op0 = AluOp::kMultiply;
  ScalarArg scalar0 = 1.0f;
  std::optional<AluOp> op1 = std::nullopt;
  ScalarArg scalar1 = 0.0f;

  static constexpr Traits kTraits{"tensor_scalar", kAnyQueue, Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("src", kSrcLikeDst, i.src);
    v.Field("op0", i.op0);
    v.Operand("scalar0", kScalarPerPartition, i.scalar0);
    v.Field("op1", i.op1);
    v.Last("scalar1", kScalarPerPartition, i.scalar1, i.op1.has_value());
  }
  template <typename Check>
  void Rules(const Check& check) const {
    if (dst.dtype == DType::kInt32 && src.dtype == DType::kInt32) {
      check.Whole(scalar0);
      check.Whole(scalar1);
    }
  }
};

// dst = (data op0 scalar) op1 tensor
struct ScalarTensorTensor {
  Operand dst;
  Operand data;
  AluOp op0 = AluOp::kMultiply;
  ScalarArg scalar = 1.0f;
  AluOp op1 = AluOp::kAdd;
  Operand tensor;

  static constexpr Traits kTraits{"scalar_tensor_tensor", kAnyQueue, Owner::kOps,
                                  Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("data", kSrcLikeDst, i.data);
    v.Field("op0", i.op0);
    v.Operand("scalar", kScalarPerPartition, i.scalar);
    v.Field("op1", i.op1);
    v.Operand("tensor", kSrcLikeDst, i.tensor);
  }
  template <typename Check>
  void Rules(const Check& check) const {
    if (dst.dtype == DType::kInt32 && data.dtype == DType::kInt32 && tensor.dtype == DType::kInt32)
      check.Whole(scalar);
  }
};

// dst [P, 1] = reduction of src over its free dimensions
struct TensorReduce {
  AluOp op = AluOp::kAdd;
  Operand dst;
  Operand src;

  static constexpr Traits kTraits{"tensor_reduce", kAnyQueue, Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Field("op", i.op);
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("src", kLocalSrc, i.src);
  }
  template <typename Check>
  void Rules(const Check& check) const {
    check.InEachPartition(dst, "one element", 1, src);
  }
};

struct TensorCopy {
  Operand dst;
  Operand src;

  static constexpr Traits kTraits{"tensor_copy", kAnyQueue, Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("src", kSrcLikeDst, i.src);
  }
  template <typename Check>
  void Rules(const Check&) const {}
};

struct Memset {
  Operand dst;
  float value = 0.0f;

  static constexpr Traits kTraits{"memset", kAnyQueue, Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kLocalDst, i.dst);
    v.Field("value", i.value);
  }
  template <typename Check>
  void Rules(const Check&) const {}
};

// dst[p, f] = base + p * partition_step + f * free_step (int32, GpSimd)
struct Iota {
  Operand dst;
  std::int32_t base = 0;
  std::int32_t partition_step = 0;
  std::int32_t free_step = 0;

  static constexpr Traits kTraits{"iota", kAnyQueue, Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kLocalDst, i.dst);
    v.Field("base", i.base);
    v.Field("partition_step", i.partition_step);
    v.Field("free_step", i.free_step);
  }
  template <typename Check>
  void Rules(const Check& check) const {
    check.Require(dst.dtype == DType::kInt32, "dst must be int32", dst);
  }
};

// dst [P, 8] = the eight largest of src [P, N], descending, equal ones repeated; compared in fp32.
struct Max8 {
  static constexpr std::int64_t kLargest = 8;
  static constexpr std::int64_t kMostElements = 16384;

  Operand dst;
  Operand src;

  static constexpr Traits kTraits{"max8", OneOf({Engine::kVector}), Owner::kOps, Control::kOnInt32};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kLocalDst, i.dst);
    v.Operand("src", kLocalSrc, i.src);
  }
  template <typename Check>
  void Rules(const Check& check) const {
    check.Require(src.free_size() >= kLargest && src.free_size() <= kMostElements,
                  "src must have 8 to 16384 elements in each partition", src);
    check.InEachPartition(dst, "8 elements", kLargest, src);
  }
};

// In the order of Body.
using VectorOps = OpList<QuantizeMx, ActivationOp, TensorTensor, TensorScalar, ScalarTensorTensor,
                         TensorReduce, TensorCopy, Memset, Iota, Max8>;

}  // namespace bwmm::isa
