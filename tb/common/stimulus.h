// Seeded random operands and commands for the benches.
//
// Plain random bits make almost every long sum NaN, so operands come in flavours: tame values whose
// sums stay finite, values around underflow, tame values with a rare Inf or NaN, and raw bits.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "model/engine/tensor_engine.h"

namespace bwmm::tb {

class Stimulus {
 public:
  enum class Flavour { kTame, kTiny, kRareSpecial, kRaw };

  explicit Stimulus(std::uint64_t seed) : random_(seed) {}

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  std::uint32_t Bits() { return static_cast<std::uint32_t>(random_()); }

  Flavour AnyFlavour();
  // One element (or x4 word) of `dtype`.
  std::uint32_t Element(DType dtype, Flavour flavour);
  std::vector<std::uint32_t> Elements(DType dtype, int count);
  std::vector<std::uint8_t> Scales(int count);

  PePart Part();
  DType OrdinaryType();  // but fp32
  DType MxType();
  DType Fp8Type();
  // Words of two elements.
  std::vector<std::uint32_t> Pairs(DType dtype, int count);

  engine::LoadCommand Load(std::uint32_t id, PeMode mode, const engine::TensorEngineConfig& config);
  // Fits `load`; at most `max_n` rows.
  engine::MoveCommand Move(std::uint32_t id, const engine::LoadCommand& load, int max_n,
                           const engine::TensorEngineConfig& config);

 private:
  std::uint32_t TinyLane(DType dtype);

  std::mt19937_64 random_;
};

}  // namespace bwmm::tb
