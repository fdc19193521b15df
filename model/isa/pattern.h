// How an access pattern is walked: the one place that turns sizes and strides into positions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/isa/operand.h"

namespace bwmm::isa {

// Calls f(elements from the first) for each index of `dims`, the last dimension fastest.
template <typename F>
void ForEachIndex(std::span<const Dim> dims, F f) {
  std::int64_t count = 1;
  for (const Dim& dim : dims)
    count *= dim.size;
  std::array<std::int64_t, Operand::kMaxRank + 1> index{};
  std::int64_t element = 0;
  for (; count > 0; --count) {
    f(element);
    for (std::size_t i = dims.size(); i-- > 0;) {
      element += dims[i].stride;
      if (++index[i] < dims[i].size)
        break;
      element -= dims[i].size * dims[i].stride;
      index[i] = 0;
    }
  }
}

// A pattern as lines of equal length: `outer` leading dimensions, for each index of which `count`
// elements lie `stride` apart.
struct Lines {
  int outer = 0;
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

// Lines of consecutive elements, as long as the innermost dimensions allow.
inline Lines DenseLines(std::span<const Dim> dims) {
  Lines lines{.outer = static_cast<int>(dims.size())};
  while (lines.outer > 0 &&
         (dims[lines.outer - 1].size == 1 || dims[lines.outer - 1].stride == lines.count))
    lines.count *= dims[--lines.outer].size;
  return lines;
}

// Lines with the innermost dimension's stride, joined with the dimensions that continue them.
inline Lines StridedLines(std::span<const Dim> dims) {
  if (dims.empty())
    return {};
  const Dim& last = dims.back();
  Lines lines{
      .outer = static_cast<int>(dims.size()) - 1, .count = last.size, .stride = last.stride};
  while (lines.outer > 0 && dims[lines.outer - 1].stride == lines.stride * lines.count)
    lines.count *= dims[--lines.outer].size;
  return lines;
}

// The free dimensions of an operand.
inline std::span<const Dim> FreeDims(const Operand& operand) {
  return std::span(operand.dims).first(operand.rank);
}

}  // namespace bwmm::isa
