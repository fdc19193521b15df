// Random DMAs: every pair of memories, broadcast, conversion, gather, scatter, moved operands and
// sums.
#pragma once

#include "tests/system/random_core.h"

namespace bwmm::test {

class RandomDma {
 public:
  explicit RandomDma(RandomCore& core) : c_(core) {}

  void Step() {
    switch (c_.dice.Below(8)) {
      case 0:
      case 1:
      case 2:
        return Copy();
      case 3:
        return Gather();
      case 4:
        return Scatter();
      case 5:
        return Moved();
      default:
        return Sum();
    }
  }

  // The same types at both ends, or two that convert.
  std::pair<DType, DType> Types() {
    if (c_.dice.OneIn(2)) {
      const auto type = static_cast<DType>(c_.dice.Below(static_cast<int>(DType::kUint32) + 1));
      return {type, type};
    }
    return {c_.dice.Of(kElementTypes), c_.dice.Of(kElementTypes)};
  }
  std::int64_t Rows() { return c_.dice.Of({1, 2, 7, 31, 32, 64, 100, 128}); }
  std::int64_t Free() { return c_.dice.Of({1, 2, 5, 16, 48, 64, 100, 128, 200}); }

 private:
  static constexpr std::array kQueues = {Engine::kSync, Engine::kGpSimd};

  // A destination that shares no byte with what is read, where one is found.
  std::optional<Operand> Target(DType dtype, std::int64_t rows, std::int64_t free, Memory memory,
                                const std::vector<Operand>& sources) {
    constexpr int kTries = 50;
    for (int i = 0; i < kTries; ++i) {
      const Operand dst = memory == Memory::kHbm
                              ? c_.Hbm(c_.Writable(), dtype, rows, free, Use::kWrite)
                              : c_.Sbuf(dtype, rows, free, Use::kWrite, false, true);
      if (std::ranges::all_of(sources, [&](const Operand& s) { return Apart(dst, s); }))
        return dst;
    }
    return std::nullopt;
  }
  Memory Side() { return c_.dice.OneIn(2) ? Memory::kHbm : Memory::kSbuf; }
  Operand Source(DType dtype, std::int64_t rows, std::int64_t free, Memory memory) {
    return memory == Memory::kHbm ? c_.Hbm(c_.Readable(dtype), dtype, rows, free, Use::kRead)
                                  : c_.Sbuf(dtype, rows, free, Use::kRead, false, true);
  }

  void Copy() {
    const auto [to, from] = Types();
    const std::int64_t rows = Rows(), free = Free();
    const Operand src = Source(from, c_.dice.OneIn(4) ? 1 : rows, free, Side());
    if (const auto dst = Target(to, rows, free, Side(), {src}))
      c_.Emit(c_.dice.Of(kQueues), isa::DmaCopy{.dst = *dst, .src = src});
  }

  void Sum() {
    const std::int64_t rows = Rows(), free = Free();
    isa::DmaCompute op;
    for (std::int64_t i = c_.dice.Below(4); i >= 0; --i)
      op.sources.push_back(Source(c_.dice.Of(kElementTypes), rows, free, Side()));
    const auto dst = Target(c_.dice.Of(kElementTypes), rows, free, Side(), op.sources);
    if (!dst)
      return;
    op.dst = *dst;
    c_.Emit(Engine::kSync, op);
  }

  // Lanes of a column as an index of `limit` rows; an error only where every lane is within.
  isa::VectorOffset Index(std::int64_t lanes, std::int64_t limit, std::int64_t stride) {
    isa::VectorOffset index{.index = {}, .rows = limit, .row_stride = stride};
    const int column = static_cast<int>(c_.dice.Below(kControlColumns));
    const int lane = static_cast<int>(c_.dice.Below(128 - lanes + 1));
    index.index = c_.Column(column, lanes, lane);
    bool within = true;
    for (std::int64_t i = 0; i < lanes; ++i)
      within = within && Within(lane + i, column, limit);
    if (!within)
      index.oob = isa::OutOfBounds::kSkip;
    return index;
  }
  isa::ScalarOffset Offset(std::int64_t limit, std::int64_t stride) {
    isa::ScalarOffset offset{.index = {}, .limit = limit, .stride = stride};
    const int column = static_cast<int>(c_.dice.Below(kControlColumns));
    const int lane = static_cast<int>(c_.dice.Below(128));
    offset.index = c_.Column(column, 1, lane);
    if (!Within(lane, column, limit))
      offset.oob = isa::OutOfBounds::kSkip;
    return offset;
  }
  bool Within(std::int64_t lane, int column, std::int64_t limit) const {
    const std::int64_t value = c_.control[lane][column];
    return value >= 0 && value < limit;
  }

  // A table of `limit` rows in `area` that may be moved by up to `reach` elements.
  Operand Table(const Area& area, DType dtype, std::int64_t rows, std::int64_t free,
                std::int64_t stride, std::int64_t limit, std::int64_t reach) {
    Operand row{.memory = Memory::kHbm, .dtype = dtype, .partitions = rows};
    SetPattern(row, free, Use::kWrite, false, c_.dice);
    while (SpanOf(row) > stride)
      SetPattern(row, free, Use::kWrite, true, c_.dice);
    row.partition_stride = stride;
    const std::int64_t span = ((limit - 1) * stride + SpanOf(row) + reach) * SizeOf(dtype);
    row.offset = AnyOffset(area.begin, area.bytes, span, dtype, c_.dice);
    return row;
  }

  void Gather() {
    const auto [to, from] = Types();
    const std::int64_t rows = Rows(), free = c_.dice.Of({1, 5, 16, 48, 64});
    const std::int64_t limit = c_.dice.Of({16, 64, 100}), stride = free + c_.dice.Below(9);
    const bool moved = c_.dice.OneIn(3);
    isa::DmaCopy op{.dst = {},
                    .src = Table(c_.Input(from), from, rows, free, stride, limit, moved ? 30 : 0)};
    op.gather = Index(rows, limit, stride);
    if (moved)
      op.src_offset = Offset(4, 10);
    op.dst = Target(to, rows, free, Side(), {}).value();
    c_.Emit(Engine::kGpSimd, op);
  }

  void Scatter() {
    const auto [to, from] = Types();
    const std::int64_t rows = Rows(), free = c_.dice.Of({1, 5, 16, 48});
    const std::int64_t limit = c_.dice.Of({16, 64, 100}), stride = free + c_.dice.Below(9);
    const bool moved = c_.dice.OneIn(3);
    isa::DmaCopy op{.dst = Table(c_.Writable(), to, rows, free, stride, limit, moved ? 30 : 0),
                    .src = Source(from, c_.dice.OneIn(4) ? 1 : rows, free, Memory::kSbuf)};
    op.scatter = Index(rows, limit, stride);
    if (moved)
      op.dst_offset = Offset(4, 10);
    c_.Emit(Engine::kGpSimd, op);
  }

  // A whole operand moved by an index, at one end.
  void Moved() {
    const auto [to, from] = Types();
    const std::int64_t rows = Rows(), free = c_.dice.Of({1, 5, 16, 48, 64});
    const std::int64_t stride = free + c_.dice.Below(5);
    isa::DmaCopy op;
    if (c_.dice.OneIn(2)) {
      const std::int64_t one = c_.dice.OneIn(4) ? 1 : rows;
      op.src = Table(c_.Input(from), from, one, free, stride, one, 3 * stride);
      op.src_offset = Offset(4, stride);
      op.dst = Target(to, rows, free, Side(), {}).value();
    } else {
      op.src = Source(from, c_.dice.OneIn(4) ? 1 : rows, free, Memory::kSbuf);
      op.dst = Table(c_.Writable(), to, rows, free, stride, rows, 3 * stride);
      op.dst_offset = Offset(4, stride);
    }
    c_.Emit(c_.dice.Of(kQueues), op);
  }

  RandomCore& c_;
};

}  // namespace bwmm::test
