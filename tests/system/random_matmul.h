// Random matmuls and transposes: a load_stationary and some multiply_movings on it.
#pragma once

#include "tests/system/random_compute.h"

namespace bwmm::test {

class RandomMatmul {
 public:
  explicit RandomMatmul(RandomCore& core) : c_(core) {}

  void Step() {
    const bool gen4 = c_.limits.generation >= 4;
    switch (c_.dice.Below(5)) {
      case 0:
        return Transpose();
      case 4:
        return DoubleRow();
      case 1:
      case 2:
        if (gen4)
          return Mx();
        [[fallthrough]];
      default:
        return Ordinary();
    }
  }

 private:
  // Moving rows: short, one bank, and all banks.
  std::int64_t Moving() {
    if (c_.limits.generation >= 4 && c_.dice.OneIn(12))
      return c_.dice.Of({513, 1024, 2048, 4096});
    return c_.dice.Of({1, 2, 5, 16, 63, 64, 65, 100, 128, 256, 400, 512});
  }
  // More columns than a tile holds come again and again.
  Operand MovingTile(DType type, std::int64_t k, std::int64_t n) {
    if (n <= 512)
      return c_.Sbuf(type, k, n, Use::kRead);
    const std::int64_t once = n % 256 == 0 ? 256 : n / 3;
    Operand tile = c_.Sbuf(type, k, once, Use::kRead, true);
    tile.rank = 2;
    tile.dims = {};
    tile.dims[0] = {.size = n / once, .stride = 0};
    tile.dims[1] = {.size = once, .stride = 1};
    return tile;
  }
  static Operand AtLeastOneDim(Operand tile) {
    tile.rank = std::max(tile.rank, 1);
    return tile;
  }
  Operand Dst(std::int64_t m, std::int64_t n) {
    const bool half = c_.limits.generation >= 4 && c_.dice.OneIn(3);
    Operand dst = c_.Psum(half ? DType::kBf16 : DType::kFp32, m, n, Use::kWrite, true);
    dst.partition = 0;
    return dst;
  }
  DType PeType() {
    if (c_.limits.generation >= 4 && c_.dice.OneIn(4))
      return DType::kFp8E4M3Fn;
    return c_.dice.Of({DType::kBf16, DType::kBf16, DType::kFp16, DType::kFp8E4M3, DType::kFp8E5M2});
  }

  void Ordinary() {
    const std::int64_t k = c_.dice.Of({1, 7, 32, 33, 64, 100, 128});
    const std::int64_t m = c_.dice.Of({1, 2, 16, 31, 64, 100, 128});
    const bool fp32 = c_.dice.OneIn(4);
    const auto type = [&] { return fp32 ? DType::kFp32 : PeType(); };
    const auto part = [&] {
      return fp32 ? std::optional(c_.dice.OneIn(2) ? PePart::kHigh : PePart::kLow) : std::nullopt;
    };
    c_.Emit(Engine::kTensor,
            isa::LoadStationary{.stationary = AtLeastOneDim(c_.Sbuf(type(), k, m, Use::kRead)),
                                .part = part()});
    for (std::int64_t i = c_.dice.Below(4); i > 0; --i) {
      const std::int64_t n = Moving();
      c_.Emit(Engine::kTensor,
              isa::MultiplyMoving{.dst = Dst(m, n),
                                  .moving = AtLeastOneDim(MovingTile(type(), k, n)),
                                  .accumulate = c_.dice.OneIn(2),
                                  .part = part()});
    }
  }

  // [K, 2, columns]
  Operand Pairs(std::int64_t k, std::int64_t columns) {
    const DType type = c_.limits.generation >= 4 && c_.dice.OneIn(3)
                           ? DType::kFp8E4M3Fn
                           : c_.dice.Of({DType::kFp8E4M3, DType::kFp8E5M2});
    Operand tile = c_.Sbuf(type, k, 2 * columns, Use::kRead, true);
    tile.rank = 2;
    tile.dims = {};
    tile.dims[0] = {.size = 2, .stride = columns};
    tile.dims[1] = {.size = columns, .stride = 1};
    return tile;
  }
  void DoubleRow() {
    const std::int64_t k = c_.dice.Of({1, 7, 32, 33, 64, 100, 128});
    const std::int64_t m = c_.dice.Of({1, 2, 16, 31, 64, 100, 128});
    c_.Emit(Engine::kTensor,
            isa::LoadStationary{.mode = PeMode::kDoubleRow, .stationary = Pairs(k, m)});
    for (std::int64_t i = c_.dice.Below(3); i >= 0; --i) {
      const std::int64_t n = c_.dice.Of({1, 2, 5, 16, 63, 64, 65, 100, 128});
      c_.Emit(Engine::kTensor, isa::MultiplyMoving{.mode = PeMode::kDoubleRow,
                                                   .dst = Dst(m, n),
                                                   .moving = Pairs(k, n),
                                                   .accumulate = c_.dice.OneIn(2)});
    }
  }

  void Mx() {
    constexpr std::array kWords = {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4};
    const std::int64_t k = 32 * (1 + c_.dice.Below(4));
    const std::int64_t m = c_.dice.Of({2, 16, 30, 64, 100, 128});
    c_.Emit(Engine::kTensor,
            isa::LoadStationary{
                .mode = PeMode::kMx,
                .stationary = AtLeastOneDim(c_.Sbuf(c_.dice.Of(kWords), k, m, Use::kRead)),
                .scale = RandomCompute::Scale(c_, k, m, Use::kRead)});
    for (std::int64_t i = c_.dice.Below(3); i >= 0; --i) {
      const std::int64_t n = Moving();
      c_.Emit(Engine::kTensor,
              isa::MultiplyMoving{.mode = PeMode::kMx,
                                  .dst = Dst(m, n),
                                  .moving = AtLeastOneDim(MovingTile(c_.dice.Of(kWords), k, n)),
                                  .scale = RandomCompute::Scale(c_, k, n, Use::kRead),
                                  .accumulate = c_.dice.OneIn(2)});
    }
  }

  // Moves the bits of any type; bytes come out as the low half of 2-byte elements.
  void Transpose() {
    const auto type = static_cast<DType>(c_.dice.Below(static_cast<int>(DType::kUint32) + 1));
    const std::int64_t k = c_.dice.Of({1, 32, 50, 128}), m = c_.dice.Of({1, 16, 64, 100, 128});
    const Operand source = AtLeastOneDim(c_.Sbuf(type, k, m, Use::kRead));
    const DType out = SizeOf(type) == 1 ? c_.dice.Of({DType::kBf16, DType::kUint16}) : type;
    Operand dst = c_.Psum(out, m, k, Use::kWrite, true);
    dst.partition = 0;
    c_.Emit(Engine::kTensor, isa::LoadStationary{.mode = PeMode::kTranspose, .stationary = source});
    c_.Emit(Engine::kTensor,
            isa::MultiplyMoving{.mode = PeMode::kTranspose, .dst = dst, .moving = source});
  }

  RandomCore& c_;
};

}  // namespace bwmm::test
