// What DMA engines carry out, whichever engine queues it, and what the sequencer and the cores do
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/isa/description.h"
#include "model/isa/operand.h"

namespace bwmm::isa {

enum class OutOfBounds : std::uint8_t { kError, kSkip };
inline constexpr int kOutOfBounds = 2;

// Row p of the HBM operand it belongs to is table row index[p]: the byte address is
// offset + index[p] * row_stride * element size. Out of bounds is an unsigned compare
// (index >= rows), so -1 is out of bounds; kSkip leaves that row of the destination untouched.
struct VectorOffset {
  Operand index;                // [P, 1], int32, SBUF
  std::int64_t rows = 0;        // table rows
  std::int64_t row_stride = 0;  // elements
  OutOfBounds oob = OutOfBounds::kError;
};

// The HBM operand it belongs to starts `index * stride` elements later; index must be < limit.
struct ScalarOffset {
  Operand index;            // one int32 in SBUF
  std::int64_t limit = 0;   // values 0..limit-1 are allowed
  std::int64_t stride = 0;  // elements
  OutOfBounds oob = OutOfBounds::kError;
};

inline constexpr Use kMovedDst{Role::kWritten, Place::kMoved};
inline constexpr Use kMovedSrc{Role::kRead, Place::kMoved};

// dst = src, element by element in row-major order; a dtype change goes through fp32. A source of
// one partition with dst.partitions > 1 is broadcast to all partitions.
struct DmaCopy {
  Operand dst;
  Operand src;
  std::optional<VectorOffset> gather = std::nullopt;   // rows of src
  std::optional<VectorOffset> scatter = std::nullopt;  // rows of dst
  std::optional<ScalarOffset> src_offset = std::nullopt;
  std::optional<ScalarOffset> dst_offset = std::nullopt;

  static constexpr Traits kTraits{"dma_copy", kAnyQueue, Owner::kOps, Control::kOnInt32,
                                  Unit::kDma};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Table("dst", kMovedDst, i.dst, i.scatter, i.dst_offset);
    v.Table("src", kMovedSrc, i.src, i.gather, i.src_offset);
    v.Part("gather", i.gather);
    v.Part("scatter", i.scatter);
    v.Part("src_offset", i.src_offset);
    v.Part("dst_offset", i.dst_offset);
  }
};

// dst = sum of the sources, added left to right in fp32, rounded once to dst's type.
struct DmaCompute {
  Operand dst;
  std::vector<Operand> sources = {};

  static constexpr Traits kTraits{"dma_compute", kAnyQueue, Owner::kOps, Control::kNever,
                                  Unit::kDma};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kMovedDst, i.dst);
    v.Word("op", "add");
    v.Each("src", {Role::kRead, Place::kMoved, Shape::kOfDst}, i.sources);
  }
};

// This core's src goes to the peer's dst; the peer's src arrives in this core's dst.
struct SendRecv {
  Operand dst;
  Operand src;
  int peer = 0;
  int pipe_id = 0;

  static constexpr Traits kTraits{"sendrecv", kAnyQueue, Owner::kMeeting, Control::kNever,
                                  Unit::kDma};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", kMovedDst, i.dst);
    v.Operand("src", kMovedSrc, i.src);
    v.Field("peer", i.peer);
    v.Field("pipe", i.pipe_id);
  }
};

// Both cores reach it before either passes. Orders accesses to `data`, a shared HBM tensor, before
// and after it on each core.
struct CoreBarrier {
  Operand data;

  static constexpr Traits kTraits{"core_barrier", kAnyQueue, Owner::kMeeting, Control::kNever,
                                  Unit::kGpSimd};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("data", {Role::kOrdered}, i.data);
  }
};

// Loads one int32 into a sequencer register; the kernel reads its value through the sink.
struct RegisterLoad {
  Operand src;

  static constexpr Traits kTraits{"register_load", kAnyQueue, Owner::kSequencer, Control::kNever};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("src", kMovedSrc, i.src);
  }
};

using DmaOps = OpList<DmaCopy, DmaCompute, SendRecv, CoreBarrier, RegisterLoad>;

}  // namespace bwmm::isa
