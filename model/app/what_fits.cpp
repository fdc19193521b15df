#include "model/app/what_fits.h"

#include <functional>
#include <optional>
#include <vector>

namespace bwmm::app {
namespace {

// One token is enough: buffers do not depend on the number of blocks.
LayerJobOptions Reduced(LayerJobOptions options) {
  options.tokens = 1;
  options.routing_csv.clear();
  return options;
}

// The largest multiple of `step` below `from` that fits, by bisection.
std::optional<int> LargestThatFits(int from, int step, const std::function<bool(int)>& fits) {
  int low = 0;
  int high = (from - 1) / step;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (fits(middle * step))
      low = middle;
    else
      high = middle - 1;
  }
  return low > 0 ? std::optional(low * step) : std::nullopt;
}

}  // namespace

std::string WhatWouldFit(const LayerJobOptions& options, const isa::Limits& limits) {
  const LayerJobOptions base = Reduced(options);
  std::vector<std::string> ways;
  for (const int size : {512, 256, 128}) {
    LayerJobOptions changed = base;
    changed.block_size = size;
    if (size < base.block_size && LayerJob::Fits(changed, limits)) {
      ways.push_back(fmt::format("block size {}", size));
      break;
    }
  }
  const auto hidden = LargestThatFits(base.model.hidden, 512, [&](int value) {
    LayerJobOptions changed = base;
    changed.model.hidden = value;
    return LayerJob::Fits(changed, limits);
  });
  if (hidden)
    ways.push_back(fmt::format("hidden up to {}", *hidden));
  const auto intermediate = LargestThatFits(base.model.intermediate, 128, [&](int value) {
    LayerJobOptions changed = base;
    changed.model.intermediate = value;
    return LayerJob::Fits(changed, limits);
  });
  if (intermediate)
    ways.push_back(fmt::format("intermediate up to {}", *intermediate));
  std::string text;
  for (const std::string& way : ways)
    text += (text.empty() ? "it fits with " : ", or ") + way;
  return text.empty() ? "no smaller block size, hidden or intermediate alone makes it fit" : text;
}

}  // namespace bwmm::app
