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

  // How often byte `at` had been freed before the instruction at `position`. `end`, one past the
  // bytes asked about, becomes one past those of which the same is true.
  std::uint8_t GenerationAt(std::uint64_t at, std::uint32_t position, std::uint64_t& end) const;

 private:
  static constexpr std::uint64_t kGranule = 64;  // the allocator's
  struct Tile {
    std::uint64_t end = 0;
    std::string name;
  };

  std::string name_;
  std::map<std::uint64_t, Tile> live_;             // by first byte
  std::vector<std::vector<std::uint32_t>> frees_;  // positions, by granule
  bool any_ = false;
};

}  // namespace bwmm::ops
