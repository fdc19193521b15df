// A scale group: the elements along K that share one scale, and where the scale lies. Every size
// that follows from it is derived here and nowhere else.
//
//                lanes of an x4 word                SBUF, one quadrant of 32 partitions
//              +----+----+----+----+
//   partition  | 0  | 1  | 2  | 3  |  `rows`         data partition p has its scale in partition
//   of K       |    one scale      |  partitions     32 (p / 32) + p % 32 / rows, counted from the
//              +----+----+----+----+                 first one of the scale operand
//
// A machine or a layout names the group it works with; a new format is a new entry.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/numerics/dtype.h"

namespace bwmm {

inline constexpr int kTilePartitions = 128;     // of one K tile, and of SBUF
inline constexpr int kQuadrantPartitions = 32;  // engines reach SBUF by quadrants

enum class SecondScale : std::uint8_t {
  kNone,
  kFp32PerTensor,  // multiplies every element of the tensor once more
};

// Scale rows of one quadrant: rows row .. row + count - 1 of the scales in order of K, in
// partitions partition .. partition + count - 1 counted from the scale operand's first.
struct ScaleRun {
  int row = 0;
  int partition = 0;
  int count = 0;
};

struct ScaleGroup {
  std::string_view name;
  int rows = 0;   // partitions along K
  int lanes = 0;  // elements of one word
  std::span<const DType> words;
  DType scale = DType::kE8M0;
  SecondScale second = SecondScale::kNone;
  int slots = 0;  // places where the scale rows of an operand may begin in a quadrant

  constexpr int elements() const { return rows * lanes; }
  constexpr bool Holds(DType word) const {
    for (const DType type : words) {
      if (type == word)
        return true;
    }
    return false;
  }

  // One K tile: what the PE array contracts in a pass.
  constexpr int tile_elements() const { return kTilePartitions * lanes; }
  constexpr int tile_scale_rows() const { return ScaleRows(kTilePartitions); }

  // Words, and scales, of `k` elements along K.
  constexpr std::int64_t WordRows(std::int64_t k) const { return k / lanes; }
  constexpr std::int64_t ScalesOf(std::int64_t k) const { return k / elements(); }
  // Scales of a column of `partitions` words.
  constexpr int ScaleRows(int partitions) const { return partitions / rows; }
  constexpr bool IsWhole(std::int64_t partitions) const { return partitions % rows == 0; }

  // Placement in SBUF, counted from the scale operand's first partition.
  constexpr int quadrant_scale_rows() const { return kQuadrantPartitions / rows; }
  constexpr int ScalePartition(int data_partition) const {
    return ScaleRowPartition(data_partition / rows);
  }
  constexpr int ScaleRowPartition(int scale_row) const {
    return kQuadrantPartitions * (scale_row / quadrant_scale_rows()) +
           scale_row % quadrant_scale_rows();
  }
  // Whether scale rows may begin at `partition`: 0, 1, .. slots - 1 times a quadrant's scale rows.
  constexpr bool MayStartAt(int partition) const {
    const int offset = partition % kQuadrantPartitions;
    return offset % quadrant_scale_rows() == 0 && offset / quadrant_scale_rows() < slots;
  }
  // Calls visit(ScaleRun) for every quadrant that `partitions` of data reach into; a quadrant that
  // is reached has all of its scale rows.
  template <typename Visit>
  constexpr void ForEachScaleRun(std::int64_t partitions, const Visit& visit) const {
    for (int q = 0; q * kQuadrantPartitions < partitions; ++q) {
      visit(ScaleRun{.row = q * quadrant_scale_rows(),
                     .partition = q * kQuadrantPartitions,
                     .count = quadrant_scale_rows()});
    }
  }

  // Packed weights [K, columns] in HBM: words [partitions, K tiles, columns] and scales
  // [scale rows, K tiles, columns]. `k` is whole tiles.
  using HbmShape = std::array<std::int64_t, 3>;
  constexpr std::int64_t TilesOf(std::int64_t k) const { return k / tile_elements(); }
  constexpr HbmShape PackedWords(std::int64_t k, std::int64_t columns) const {
    return {kTilePartitions, TilesOf(k), columns};
  }
  constexpr HbmShape PackedScales(std::int64_t k, std::int64_t columns) const {
    return {tile_scale_rows(), TilesOf(k), columns};
  }
};

inline constexpr std::array kMxWords = {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4,
                                        DType::kFp4E2M1FnX4};

// OCP MX: what the PE array multiplies and quantize_mx makes.
inline constexpr ScaleGroup kMxGroup = {.name = "mx",
                                        .rows = 8,
                                        .lanes = 4,
                                        .words = kMxWords,
                                        .scale = DType::kE8M0,
                                        .second = SecondScale::kNone,
                                        .slots = 4};

inline constexpr std::array kNvfp4Words = {DType::kFp4E2M1FnX4};

// NVFP4: half the rows, a scale with a mantissa, and one fp32 for the whole tensor.
inline constexpr ScaleGroup kNvfp4Group = {.name = "nvfp4",
                                           .rows = 4,
                                           .lanes = 4,
                                           .words = kNvfp4Words,
                                           .scale = DType::kFp8E4M3Fn,
                                           .second = SecondScale::kFp32PerTensor,
                                           .slots = 4};

inline constexpr std::array kScaleGroups = {&kMxGroup, &kNvfp4Group};

// The group of words with scales of this type; none when no format pairs the two.
constexpr const ScaleGroup* FindScaleGroup(DType words, DType scale) {
  for (const ScaleGroup* group : kScaleGroups) {
    if (group->Holds(words) && group->scale == scale)
      return group;
  }
  return nullptr;
}

}  // namespace bwmm
