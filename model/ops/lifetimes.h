// When the bytes of an on-chip memory changed hands, in program order: a tile that takes freed
// bytes does not own what was written there before.
//
//   position   0 ........ 40 ........ 90         instructions emitted before
//   granule    generation 0 | 1       | 2        freed twice
//
// What is asked about an instruction depends on its place in the program alone, so a checker that
// sees instructions in another order gets the same answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bwmm::ops {

class Lifetimes {
 public:
  // `name` is what messages call the memory; `bytes` per partition.
  Lifetimes(std::string name, std::int64_t bytes)
      : name_(std::move(name)), frees_((bytes + kGranule - 1) / kGranule) {}

  // SimError when the bytes are part of a live tile.
  void Allocated(std::uint64_t begin, std::uint64_t bytes, const std::string& tile);
  void Freed(std::uint64_t begin, std::uint32_t position);

  // Calls f(begin, end, generation) for each stretch of [begin, end) that had been freed equally
  // often before the instruction at `position`.
  template <typename F>
  void ForEachGeneration(std::int64_t begin, std::int64_t end, std::uint32_t position, F f) const {
    while (begin < end) {
      const std::uint8_t generation = GenerationOf(begin / kGranule, position);
      std::int64_t next = (begin / kGranule + 1) * kGranule;
      if (!any_)
        next = end;
      while (next < end && GenerationOf(next / kGranule, position) == generation)
        next += kGranule;
      next = std::min(next, end);
      f(begin, next, generation);
      begin = next;
    }
  }

 private:
  static constexpr std::int64_t kGranule = 64;  // the allocator's
  struct Tile {
    std::uint64_t end = 0;
    std::string name;
  };

  // Modulo 255, so that a checker's byte has a value left for "never written".
  std::uint8_t GenerationOf(std::int64_t granule, std::uint32_t position) const {
    const std::vector<std::uint32_t>& positions = frees_[granule];
    auto count = positions.size();
    while (count > 0 && positions[count - 1] > position)
      --count;
    return static_cast<std::uint8_t>(count % 255);
  }

  std::string name_;
  std::map<std::uint64_t, Tile> live_;             // by first byte
  std::vector<std::vector<std::uint32_t>> frees_;  // positions, by granule
  bool any_ = false;
};

}  // namespace bwmm::ops
