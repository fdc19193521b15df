// Seeded random numbers that are the same bits on every host: 64-bit integers, IEEE operations and
// the portable log of portable_math.h, no libm and no std:: distribution.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "host/portable_math.h"

namespace bwmm::host {

// One step of SplitMix64: a bijection that scatters neighbouring seeds.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// xoshiro256** (Blackman and Vigna), one independent stream per (seed, stream) pair.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t x = Mix(seed) ^ stream;
    for (std::uint64_t& word : state_)
      word = x = Mix(x);
  }

  std::uint64_t Bits() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // In (0, 1), never either end.
  double Uniform() { return (static_cast<double>(Bits() >> 12) + 0.5) * 0x1p-52; }

  // Mean 0, variance 1, by Marsaglia's polar method.
  double Normal() {
    for (;;) {
      const double x = 2 * Uniform() - 1;
      const double y = 2 * Uniform() - 1;
      const double s = x * x + y * y;
      if (s < 1)
        return x * std::sqrt(-2 * PortableLog(s) / s);
    }
  }

  // Standard Gumbel: argmax of (log weight + Gumbel) draws in proportion to the weights.
  double Gumbel() { return -PortableLog(-PortableLog(Uniform())); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace bwmm::host
