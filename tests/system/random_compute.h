// Random instructions of the Vector, Scalar and GpSimd engines.
#pragma once

#include <bit>

#include "tests/system/random_core.h"

namespace bwmm::test {

class RandomCompute {
 public:
  explicit RandomCompute(RandomCore& core) : c_(core) {}

  void Step() {
    const std::int64_t partitions = c_.dice.Of({1, 5, 16, 32, 33, 64, 100, 128});
    const std::int64_t free = c_.dice.Of({1, 2, 3, 8, 12, 30, 64, 96, 100, 128, 200, 256});
    switch (c_.dice.Below(9)) {
      case 0:
        return Pair(partitions, free);
      case 1:
        return Scaled(partitions, free);
      case 2:
        return ScaledPair(partitions, free);
      case 3:
        return Reduce(partitions, free);
      case 4:
        return Copy(partitions, free);
      case 5:
        return Set(partitions, free);
      case 6:
        return Activate(partitions, free);
      case 7:
        return Largest(partitions, std::max<std::int64_t>(free, 8));
      default:
        return c_.limits.generation >= 4 ? Quantize() : Activate(partitions, free);
    }
  }

 private:
  static constexpr std::array kAll = {Engine::kVector, Engine::kScalar, Engine::kGpSimd};
  static constexpr std::array kTwo = {Engine::kVector, Engine::kGpSimd};

  isa::AluOp Alu() { return static_cast<isa::AluOp>(c_.dice.Below(6)); }
  DType Type() { return c_.dice.Of(kElementTypes); }

  float Constant(bool whole) {
    if (whole)
      return c_.dice.Of({0.0f, 1.0f, -1.0f, 3.0f, 1000.0f, -0x1p31f});
    constexpr std::uint32_t kBits[] = {0,          0x80000000, 0x3f800000, 0xbf000000,
                                       0x40490fdb, 0x7f800000, 0xff800000, 0x7fc00000,
                                       0xffc12345, 0x7f7fffff, 0x00000001, 0x80400000};
    return std::bit_cast<float>(kBits[c_.dice.Below(std::ssize(kBits))]);
  }
  // A constant, or a value per partition, or one for all of them.
  isa::ScalarArg Scalar(Engine engine, std::int64_t partitions, bool whole) {
    if (c_.dice.OneIn(3))
      return Constant(whole);
    const DType type = whole ? DType::kInt32 : Type();
    return c_.Local(engine, type, c_.dice.OneIn(2) ? partitions : 1, 1, Use::kRead);
  }
  // One type for all in a third of the cases, so that integers meet.
  std::array<DType, 3> Types() {
    if (c_.dice.OneIn(3)) {
      const DType type = c_.dice.OneIn(2) ? DType::kInt32 : Type();
      return {type, type, type};
    }
    return {Type(), Type(), Type()};
  }
  static bool Whole(const std::array<DType, 3>& types) {
    return types == std::array{DType::kInt32, DType::kInt32, DType::kInt32};
  }

  void Pair(std::int64_t partitions, std::int64_t free) {
    const Engine engine = c_.dice.Of(kAll);
    const auto types = Types();
    const Operand a = c_.Local(engine, types[1], partitions, free, Use::kRead);
    const Operand b = a.memory == Memory::kPsum
                          ? c_.Sbuf(types[2], partitions, free, Use::kRead)
                          : c_.Local(engine, types[2], partitions, free, Use::kRead);
    const Operand dst = c_.Local(engine, types[0], partitions, free, Use::kWrite);
    c_.Emit(engine, isa::TensorTensor{.op = Alu(), .dst = dst, .a = a, .b = b});
  }

  void Scaled(std::int64_t partitions, std::int64_t free) {
    const Engine engine = c_.dice.Of(kAll);
    auto types = Types();
    types[2] = types[1];
    isa::TensorScalar op{.dst = {},
                         .src = c_.Local(engine, types[1], partitions, free, Use::kRead),
                         .op0 = Alu(),
                         .scalar0 = Scalar(engine, partitions, Whole(types))};
    if (c_.dice.OneIn(2)) {
      op.op1 = Alu();
      op.scalar1 = Scalar(engine, partitions, Whole(types));
    }
    op.dst = c_.Local(engine, types[0], partitions, free, Use::kWrite);
    c_.Emit(engine, op);
  }

  void ScaledPair(std::int64_t partitions, std::int64_t free) {
    const Engine engine = c_.dice.Of(kTwo);
    const auto types = Types();
    isa::ScalarTensorTensor op{.dst = {},
                               .data = c_.Local(engine, types[1], partitions, free, Use::kRead),
                               .op0 = Alu(),
                               .scalar = Scalar(engine, partitions, Whole(types)),
                               .op1 = Alu(),
                               .tensor = c_.Sbuf(types[2], partitions, free, Use::kRead)};
    op.dst = c_.Local(engine, types[0], partitions, free, Use::kWrite);
    c_.Emit(engine, op);
  }

  void Reduce(std::int64_t partitions, std::int64_t free) {
    const Engine engine = c_.dice.Of(kTwo);
    const auto types = Types();
    const Operand src = c_.Local(engine, types[1], partitions, free, Use::kRead);
    c_.Emit(engine, isa::TensorReduce{.op = Alu(),
                                      .dst = c_.Local(engine, types[0], partitions, 1, Use::kWrite),
                                      .src = src});
  }

  void Largest(std::int64_t partitions, std::int64_t free) {
    const auto types = Types();
    const Operand src = c_.Local(Engine::kVector, types[1], partitions, free, Use::kRead);
    const Operand dst = c_.Local(Engine::kVector, types[0], partitions, 8, Use::kWrite);
    c_.Emit(Engine::kVector, isa::Max8{.dst = dst, .src = src});
  }

  void Copy(std::int64_t partitions, std::int64_t free) {
    const Engine engine = c_.dice.Of(kAll);
    const auto types = Types();
    const Operand src = c_.Local(engine, types[1], partitions, free, Use::kRead);
    c_.Emit(engine,
            isa::TensorCopy{.dst = c_.Local(engine, types[0], partitions, free, Use::kWrite),
                            .src = src});
  }

  void Set(std::int64_t partitions, std::int64_t free) {
    if (c_.dice.OneIn(3)) {
      c_.Emit(Engine::kGpSimd,
              isa::Iota{.dst = c_.Sbuf(DType::kInt32, partitions, free, Use::kWrite),
                        .base = static_cast<std::int32_t>(c_.dice.Of({0L, -7L, 2147483000L})),
                        .partition_step = static_cast<std::int32_t>(c_.dice.Below(100)) - 50,
                        .free_step = static_cast<std::int32_t>(c_.dice.Below(7)) - 3});
      return;
    }
    const Engine engine = c_.dice.Of(kTwo);
    c_.Emit(engine, isa::Memset{.dst = c_.Local(engine, Type(), partitions, free, Use::kWrite),
                                .value = Constant(false)});
  }

  void Activate(std::int64_t partitions, std::int64_t free) {
    isa::ActivationOp op{.function = static_cast<Activation>(c_.dice.Below(8)),
                         .dst = {},
                         .src = c_.Local(Engine::kScalar, Type(), partitions, free, Use::kRead),
                         .scale = c_.dice.OneIn(2) ? 1.0f : Constant(false)};
    if (c_.dice.OneIn(2))
      op.bias = c_.Local(Engine::kScalar, Type(), c_.dice.OneIn(2) ? partitions : 1, 1, Use::kRead);
    if (c_.dice.OneIn(3))
      op.reduce_res = c_.Local(Engine::kScalar, Type(), partitions, 1, Use::kWrite);
    op.dst = c_.Local(Engine::kScalar, Type(), partitions, free, Use::kWrite);
    c_.Emit(Engine::kScalar, op);
  }

  void Quantize() {
    const std::int64_t partitions = 32 * (1 + c_.dice.Below(4));
    const std::int64_t words = c_.dice.Of({1, 2, 5, 16, 64, 100});
    const DType source = c_.dice.Of({DType::kBf16, DType::kFp16});
    const DType target = c_.dice.Of({DType::kFp8E4M3FnX4, DType::kFp8E5M2X4});
    const Operand src = c_.Sbuf(source, partitions, 4 * words, Use::kRead, true);
    const Operand dst = c_.Sbuf(target, partitions, words, Use::kWrite);
    c_.Emit(Engine::kVector,
            isa::QuantizeMx{.dst = dst,
                            .dst_scale = Scale(c_, partitions, words, Use::kWrite),
                            .src = src,
                            .rule = c_.dice.OneIn(2) ? ScaleRule::kOcp : ScaleRule::kX2});
  }

 public:
  // Scales of [partitions, columns] x4 words in the quadrant layout.
  static Operand Scale(RandomCore& core, std::int64_t partitions, std::int64_t columns, Use use) {
    const std::int64_t rows = 32 * (partitions / 32 - 1) + 4;
    Operand scale = core.Sbuf(core.dice.Of({DType::kE8M0, DType::kUint8}), rows, columns, use,
                              use == Use::kRead);
    scale.partition = static_cast<int>(4 * core.dice.Below(4));
    const std::int64_t quadrants = (128 - rows - scale.partition) / 32;
    scale.partition += static_cast<int>(32 * core.dice.Below(quadrants + 1));
    return scale;
  }

 private:
  RandomCore& c_;
};

}  // namespace bwmm::test
