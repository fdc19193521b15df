// Random integer instructions on the control columns, whose values the generator follows, and
// registers that steer what comes next.
#pragma once

#include <limits>

#include "tests/system/random_core.h"

namespace bwmm::test {

class RandomControl {
 public:
  explicit RandomControl(RandomCore& core) : c_(core) {}

  // A column gets new values. What is there at first stays in columns 0 to 3.
  void Step(const std::array<std::array<std::int32_t, kControlColumns>, 128>& loaded) {
    const int to = 4 + static_cast<int>(c_.dice.Below(4));
    const int from = static_cast<int>(c_.dice.Below(kControlColumns));
    const int other = static_cast<int>(c_.dice.Below(kControlColumns));
    const auto constant = static_cast<std::int32_t>(c_.dice.Of({-1L, 0L, 1L, 2L, 5L, 40L}));
    switch (c_.dice.Below(6)) {
      case 0: {
        Operand src = DenseRows(c_.layout.control, DType::kInt32, 128);
        src.offset += static_cast<std::uint64_t>(4 * from);
        src.dims[0].size = 1;
        c_.Emit(Engine::kSync, isa::DmaCopy{.dst = c_.Column(to), .src = src});
        return Set(to, [&](int lane) { return loaded[lane][from]; });
      }
      case 1: {
        const auto step = static_cast<std::int32_t>(c_.dice.Below(3));
        c_.Emit(Engine::kGpSimd,
                isa::Iota{.dst = c_.Column(to), .base = constant, .partition_step = step});
        return Set(to, [&](int lane) { return constant + lane * step; });
      }
      case 2:
        c_.Emit(Engine::kVector,
                isa::Memset{.dst = c_.Column(to), .value = static_cast<float>(constant)});
        return Set(to, [&](int) { return constant; });
      case 3:
        c_.Emit(c_.dice.Of({Engine::kVector, Engine::kGpSimd}),
                isa::TensorScalar{.dst = c_.Column(to),
                                  .src = c_.Column(from),
                                  .op0 = isa::AluOp::kAdd,
                                  .scalar0 = static_cast<float>(constant),
                                  .op1 = isa::AluOp::kMin,
                                  .scalar1 = 60.0f});
        return Set(to, [&](int lane) {
          return std::min<std::int64_t>(c_.control[lane][from] + constant, 60);
        });
      case 4:
        c_.Emit(Engine::kVector, isa::TensorTensor{.op = isa::AluOp::kMax,
                                                   .dst = c_.Column(to),
                                                   .a = c_.Column(from),
                                                   .b = c_.Column(other)});
        return Set(to, [&](int lane) {
          return std::max(c_.control[lane][from], c_.control[lane][other]);
        });
      default:
        c_.Emit(Engine::kScalar, isa::TensorCopy{.dst = c_.Column(to), .src = c_.Column(from)});
        return Set(to, [&](int lane) { return c_.control[lane][from]; });
    }
  }

  // A register_load; answers its value and lets `turn` write what hangs on it: steps for each turn
  // below the value, and one turn too many, which must not happen.
  template <typename Turn>
  void Loop(const std::array<std::array<std::int32_t, kControlColumns>, 128>& loaded, Turn turn) {
    const int column = static_cast<int>(c_.dice.Below(kControlColumns));
    const int lane = static_cast<int>(c_.dice.Below(128));
    const auto load = static_cast<std::uint32_t>(c_.steps.size());
    std::int64_t value = c_.control[lane][column];
    Operand src = c_.Column(column, 1, lane);
    if (c_.dice.OneIn(2)) {
      src = DenseRows(c_.layout.control, DType::kInt32, 1);
      src.offset += static_cast<std::uint64_t>(4 * (lane * kControlColumns + column));
      src.dims[0].size = 1;
      src.partition_stride = 1;
      value = loaded[lane][column];
    }
    c_.Emit(Engine::kSync, isa::RegisterLoad{.src = src});
    using Int32 = std::numeric_limits<std::int32_t>;
    const std::int64_t first = std::max<std::int64_t>(value - 2, Int32::min());
    for (std::int64_t i = first; i <= std::min<std::int64_t>(value, Int32::max()); ++i) {
      c_.when = {load, static_cast<std::int32_t>(i)};
      turn();
    }
    c_.when.reset();
  }

 private:
  template <typename ValueOf>
  void Set(int column, ValueOf value_of) {
    for (int lane = 0; lane < 128; ++lane)
      c_.SetControl(lane, column, value_of(lane));
  }

  RandomCore& c_;
};

}  // namespace bwmm::test
