#include "workloads/moe_cte/what_fits.h"

#include <functional>
#include <optional>
#include <vector>

#include "kernels/lang/core.h"

namespace bwmm::workloads {
namespace {

bool IsDropping(const LayerJobOptions& options) {
  return options.variant == kernels::MoECTEImplementation::shard_on_i_dropping;
}

// One token and no count of blocks. A capacity layout keeps its tokens: they make its block size.
LayerJobOptions Reduced(LayerJobOptions options) {
  if (!IsDropping(options)) {
    options.tokens = 1;
    options.routing_csv.clear();
  }
  options.kernel.shard_on_I.num_static_block.reset();
  options.kernel.shard_on_block.n_static_blocks = -1;
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

Fit FitOf(const LayerJobOptions& options, const isa::Limits& limits) {
  return LayerJob::DryRunOf(Reduced(options), limits);
}

std::string WhatWouldFit(const LayerJobOptions& options, const isa::Limits& limits) {
  const LayerJobOptions& base = options;
  const auto fits = [&](const LayerJobOptions& changed) {
    return FitOf(changed, limits) == Fit::kFits;
  };
  std::vector<std::string> ways;
  for (const int size : {512, 256, 128}) {
    LayerJobOptions changed = base;
    changed.block_size = size;
    if (!IsDropping(base) && size < base.block_size && fits(changed)) {
      ways.push_back(fmt::format("block size {}", size));
      break;
    }
  }
  const auto hidden = LargestThatFits(base.model.hidden, 512, [&](int value) {
    LayerJobOptions changed = base;
    changed.model.hidden = value;
    return fits(changed);
  });
  if (hidden)
    ways.push_back(fmt::format("hidden up to {}", *hidden));
  const auto intermediate = LargestThatFits(base.model.intermediate, 128, [&](int value) {
    LayerJobOptions changed = base;
    changed.model.intermediate = value;
    return fits(changed);
  });
  if (intermediate)
    ways.push_back(fmt::format("intermediate up to {}", *intermediate));
  for (isa::Limits wider = limits; ways.empty() && ++wider.psum_banks <= lang::Core::kPsumBanks;) {
    if (FitOf(base, wider) == Fit::kFits)
      ways.push_back(fmt::format("machine.psum.banks={}", wider.psum_banks));
  }
  std::string text;
  for (const std::string& way : ways)
    text += (text.empty() ? "it fits with " : ", or ") + way;
  return text.empty() ? "no smaller block size, hidden or intermediate alone makes it fit" : text;
}

}  // namespace bwmm::workloads
