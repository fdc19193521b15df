// One core's part of a random program while it is written: its steps, what its SBUF slots hold, the
// value of every control column.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "model/isa/sink.h"
#include "tests/system/random_operands.h"

namespace bwmm::test {

using isa::Engine;

// Types elements are computed on.
inline constexpr std::array kElementTypes = {DType::kFp32,      DType::kBf16,    DType::kFp16,
                                             DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2,
                                             DType::kE8M0,      DType::kInt32,   DType::kUint8};

struct RandomCore {
  int core = 0;
  const RandomLayout& layout;
  isa::Limits limits;
  Dice dice;
  std::vector<replay::ReplayStep>& steps;
  std::array<DType, kSlots> slots = kSlotTypes;
  std::array<std::array<std::int64_t, kControlColumns>, 128> control{};
  std::optional<replay::RegisterCondition> when = std::nullopt;
  bool share_is_mine = true;  // the shared tensor: my share may be written, or all of it read

  void Emit(Engine engine, isa::Body body) {
    const auto id = static_cast<std::uint32_t>(steps.size());
    steps.push_back({{.id = id, .core = core, .engine = engine, .body = std::move(body)}, when});
  }

  // A tile for an engine, or with `moved` for a DMA, which starts at any partition.
  Operand Sbuf(DType dtype, std::int64_t partitions, std::int64_t free, Use use, bool dense = false,
               bool moved = false) {
    Operand tile = Pattern(Memory::kSbuf, dtype, partitions, free, use, dense, kDataBytes);
    if (moved)
      tile.partition = static_cast<int>(dice.Below(128 - partitions + 1));
    const std::int64_t span = tile.span_bytes();
    tile.offset = AnyOffset(0, kDataBytes, span, dtype, dice);
    // Mostly data of its own type.
    if (use == Use::kRead && span <= kSlotBytes && !dice.OneIn(5)) {
      const std::int64_t first = dice.Below(kSlots);
      for (std::int64_t i = 0; i < kSlots; ++i) {
        const std::int64_t slot = (first + i) % kSlots;
        if (slots[slot] != dtype)
          continue;
        tile.offset = AnyOffset(slot * kSlotBytes, kSlotBytes, span, dtype, dice);
        break;
      }
    }
    if (use == Use::kWrite) {
      const std::int64_t last = (static_cast<std::int64_t>(tile.offset) + span - 1) / kSlotBytes;
      for (std::int64_t slot = static_cast<std::int64_t>(tile.offset) / kSlotBytes; slot <= last;
           ++slot)
        slots[slot] = dtype;
    }
    return tile;
  }

  Operand Psum(DType dtype, std::int64_t partitions, std::int64_t free, Use use,
               bool dense = false) {
    Operand tile = Pattern(Memory::kPsum, dtype, partitions, free, use, dense, kPsumBytes);
    tile.offset = AnyOffset(0, kPsumBytes, tile.span_bytes(), dtype, dice);
    return tile;
  }

  // SBUF, or PSUM for engines that reach it.
  Operand Local(Engine engine, DType dtype, std::int64_t partitions, std::int64_t free, Use use) {
    if (engine != Engine::kGpSimd && dice.OneIn(4))
      return Psum(dtype, partitions, free, use);
    return Sbuf(dtype, partitions, free, use);
  }

  // Rows in a range of HBM. Written rows do not overlap; read ones may, or be one row again and
  // again.
  Operand Hbm(const Area& area, DType dtype, std::int64_t rows, std::int64_t free, Use use) {
    const std::int64_t size = SizeOf(dtype);
    Operand tile{.memory = Memory::kHbm, .dtype = dtype, .partitions = rows};
    std::int64_t end = 0;
    do {
      SetPattern(tile, free, use, false, dice);
      tile.partition_stride = SpanOf(tile) + (dice.OneIn(2) ? dice.Below(9) : 0);
      if (use == Use::kRead && dice.OneIn(8))
        tile.partition_stride = dice.Below(2);
      if (tile.rank == 1 && dice.OneIn(6)) {  // a transposed view
        tile.partition_stride = 1;
        tile.dims[0].stride = rows;
      }
      end = ((rows - 1) * tile.partition_stride + SpanOf(tile)) * size;
    } while (end > area.bytes);
    tile.offset = AnyOffset(area.begin, area.bytes, end, dtype, dice);
    return tile;
  }

  // What this core may read, mostly data of the type.
  Area Readable(DType dtype) {
    if (dice.OneIn(4))
      return layout.work[core];
    if (dice.OneIn(6))
      return share_is_mine ? layout.Share(core) : layout.shared;
    return Input(dtype);
  }
  Area Input(DType dtype) {
    const std::int64_t first = dice.Below(kSlots);
    for (std::int64_t i = 0; i < kSlots && !dice.OneIn(20); ++i) {
      if (kSlotTypes[(first + i) % kSlots] == dtype)
        return layout.inputs[(first + i) % kSlots];
    }
    return layout.inputs[first];
  }
  Area Writable() {
    return share_is_mine && dice.OneIn(3) ? layout.Share(core) : layout.work[core];
  }

  Operand Column(int column, std::int64_t lanes = 128, int lane = 0) const {
    return Tile(Memory::kSbuf, DType::kInt32, kControlAt + static_cast<std::uint64_t>(4 * column),
                lanes, 1, lane);
  }
  void SetControl(int lane, int column, std::int64_t value) {
    using Int32 = std::numeric_limits<std::int32_t>;
    control[lane][column] = std::clamp<std::int64_t>(value, Int32::min(), Int32::max());
  }

 private:
  Operand Pattern(Memory memory, DType dtype, std::int64_t partitions, std::int64_t free, Use use,
                  bool dense, std::int64_t limit) {
    Operand tile{.memory = memory,
                 .dtype = dtype,
                 .partition = EnginePartition(partitions, dice),
                 .partitions = partitions};
    do {
      SetPattern(tile, free, use, dense, dice);
    } while (tile.span_bytes() > limit);
    return tile;
  }
};

}  // namespace bwmm::test
