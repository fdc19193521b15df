// 65,536 equally likely quantiles of the normal distribution: one 16-bit random index draws a
// value, so a 64-bit random number draws four.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace bwmm::host {

inline constexpr int kQuantileBits = 16;
inline constexpr int kQuantiles = 1 << kQuantileBits;

// Quantile i + 1/2 of 2^16 of N(0, 1), ascending and odd around the middle.
const std::array<float, kQuantiles>& NormalQuantiles();

// Any function of a quantile as a table: codes of a format, bf16 words.
template <typename Word, typename Encode>
std::unique_ptr<std::array<Word, kQuantiles>> TableOf(const Encode& encode) {
  auto table = std::make_unique<std::array<Word, kQuantiles>>();
  for (int i = 0; i < kQuantiles; ++i)
    (*table)[i] = encode(NormalQuantiles()[i]);
  return table;
}

}  // namespace bwmm::host
