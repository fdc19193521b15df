#include "host/block_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

// Rounds up also when the numerator is negative.
std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

void Validate(const Routing& routing, const BlockLayoutOptions& options) {
  if (options.block_size < 1)
    throw SimError("block layout: block size {}, 1 or more is needed", options.block_size);
  if (routing.tokens < 0 || routing.experts < 1 || routing.top_k < 1) {
    throw SimError("block layout: {} tokens, {} experts, top_k {}: 0, 1 and 1 or more are needed",
                   routing.tokens, routing.experts, routing.top_k);
  }
  Check(std::ssize(routing.expert) == std::int64_t{routing.tokens} * routing.top_k,
        "routing has tokens * top_k slots");
  for (std::size_t i = 0; i < routing.expert.size(); ++i) {
    const std::int32_t e = routing.expert[i];
    if (e != kUnusedSlot && (e < 0 || e >= routing.experts)) {
      throw SimError("block layout: token {} slot {} has expert {}, allowed 0 to {} or -1",
                     i / routing.top_k, i % routing.top_k, e, routing.experts - 1);
    }
  }
}

// Ascending tokens per expert, each token once.
std::vector<std::vector<std::int32_t>> RowsOfExperts(const Routing& routing) {
  std::vector<std::vector<std::int32_t>> rows(routing.experts);
  for (int t = 0; t < routing.tokens; ++t) {
    for (int s = 0; s < routing.top_k; ++s) {
      const std::int32_t e = routing.expert[static_cast<std::size_t>(t) * routing.top_k + s];
      if (e != kUnusedSlot && (rows[e].empty() || rows[e].back() != t))
        rows[e].push_back(t);
    }
  }
  return rows;
}

HostTensor Int32Tensor(std::string name, const std::vector<std::int32_t>& values) {
  HostTensor tensor = HostTensor::Zeros(std::move(name), DType::kInt32, {std::ssize(values)});
  std::ranges::copy(values, tensor.words<std::int32_t>().begin());
  return tensor;
}

}  // namespace

int BlocksNeeded(std::int64_t tokens, int top_k, int experts, int block_size, bool pad_to_even) {
  const std::int64_t rows = tokens * top_k;
  std::int64_t blocks = std::min(CeilDiv(rows - (experts - 1), block_size) + experts - 1, rows);
  if (pad_to_even)
    blocks += blocks % 2;
  if (blocks * block_size > std::numeric_limits<std::int32_t>::max()) {
    throw SimError("block layout: {} blocks of {} rows, up to 2^31 - 1 rows are allowed", blocks,
                   block_size);
  }
  return static_cast<int>(blocks);
}

BlockLayout BuildBlockLayout(const Routing& routing, const BlockLayoutOptions& options) {
  Validate(routing, options);
  const std::vector<std::vector<std::int32_t>> rows = RowsOfExperts(routing);
  const int size = options.block_size;
  BlockLayout layout;
  layout.tokens = routing.tokens;
  layout.block_size = size;
  for (const auto& expert_rows : rows)
    layout.rows_per_expert.push_back(std::ssize(expert_rows));
  const std::int64_t total = std::accumulate(layout.rows_per_expert.begin(),
                                             layout.rows_per_expert.end(), std::int64_t{0});
  if (total > 0) {
    layout.blocks =
        BlocksNeeded(routing.tokens, routing.top_k, routing.experts, size, options.pad_to_even);
  }
  const std::int32_t pad = options.skip_token ? -1 : routing.tokens;
  layout.token_position_to_id.assign(static_cast<std::size_t>(layout.blocks) * size, pad);
  layout.block_to_expert.assign(layout.blocks, routing.experts - 1);
  layout.conditions.assign(layout.blocks, 0);
  for (int e = 0; e < routing.experts; ++e) {
    for (std::size_t first = 0; first < rows[e].size(); first += size) {
      const int block = layout.live_blocks++;
      Check(block < layout.blocks, "the bound on the number of blocks holds");
      const std::size_t count = std::min<std::size_t>(size, rows[e].size() - first);
      std::copy_n(rows[e].begin() + static_cast<std::ptrdiff_t>(first), count,
                  layout.token_position_to_id.begin() + std::ptrdiff_t{block} * size);
      layout.block_to_expert[block] = e;
      layout.conditions[block] = 1;
    }
  }
  return layout;
}

HostTensor BlockLayout::TokenPositionToId() const {
  return Int32Tensor("token_position_to_id", token_position_to_id);
}

HostTensor BlockLayout::BlockToExpert() const {
  return Int32Tensor("block_to_expert", block_to_expert);
}

HostTensor BlockLayout::Conditions(int extra_zeros) const {
  std::vector<std::int32_t> padded = conditions;
  padded.resize(padded.size() + extra_zeros, 0);
  return Int32Tensor("conditions", padded);
}

BlockLayout BuildDroppingLayout(const Routing& routing, double capacity_factor, bool skip_token,
                                std::int64_t multiple) {
  Validate(routing, {});
  std::vector<std::vector<std::int32_t>> rows = RowsOfExperts(routing);
  const double wanted = std::ceil(static_cast<double>(routing.tokens) * routing.top_k *
                                  capacity_factor / routing.experts);
  const auto capacity = static_cast<std::int64_t>(std::min<double>(routing.tokens, wanted));
  BlockLayout layout;
  layout.tokens = routing.tokens;
  layout.block_size =
      static_cast<int>(std::max<std::int64_t>(1, CeilDiv(capacity, multiple)) * multiple);
  layout.blocks = routing.experts;
  layout.token_position_to_id.assign(std::size_t{1} * layout.blocks * layout.block_size,
                                     skip_token ? -1 : routing.tokens);
  for (int e = 0; e < routing.experts; ++e) {
    layout.block_to_expert.push_back(e);
    if (std::ssize(rows[e]) > capacity) {
      layout.dropped_rows += std::ssize(rows[e]) - capacity;
      rows[e].resize(capacity);
    }
    layout.rows_per_expert.push_back(std::ssize(rows[e]));
    layout.conditions.push_back(rows[e].empty() ? 0 : 1);
    layout.live_blocks += layout.conditions.back();
    std::ranges::copy(rows[e],
                      layout.token_position_to_id.begin() + std::int64_t{e} * layout.block_size);
  }
  return layout;
}

}  // namespace bwmm::host
