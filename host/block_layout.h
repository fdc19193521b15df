// Rows of a routing decision packed into blocks: every block holds the rows of one expert.
//
//   B = 2, experts of tokens 0..3: 2 0 2 2      block          0        1        2
//                                               expert         0        2        2
//                                               token ids    [1 pad]  [0 2]   [3 pad]
#pragma once

#include <cstdint>
#include <vector>

#include "host/host_tensor.h"
#include "host/routing.h"

namespace bwmm::host {

struct BlockLayoutOptions {
  int block_size = 256;
  bool skip_token = false;   // pad id is -1 and its row is skipped, instead of the zero row T
  bool pad_to_even = false;  // an odd number of blocks gets one more, for two cores in turn
};

struct BlockLayout {
  int tokens = 0;
  int block_size = 0;
  int blocks = 0;       // N, from tokens * top_k, experts and block size alone
  int live_blocks = 0;  // blocks with at least one row: of a block layout the first ones
  std::vector<std::int32_t> token_position_to_id;  // [N * B], ascending inside an expert
  std::vector<std::int32_t> block_to_expert;       // [N], blocks without rows name the last expert
  std::vector<std::int32_t> conditions;            // [N], 1 for live blocks
  std::vector<std::int64_t> rows_per_expert;       // [E]
  std::int64_t dropped_rows = 0;                   // over capacity; 0 in a block layout

  // The three vectors as int32 tensors; `conditions` gets `extra_zeros` zeros at its end.
  HostTensor TokenPositionToId() const;
  HostTensor BlockToExpert() const;
  HostTensor Conditions(int extra_zeros) const;
};

// N = min(ceil((T k - (E - 1)) / B) + E - 1, T k), the least bound over all routings, and 0 when no
// token is routed. A token that names an expert twice gets one row (and one summed affinity), for
// a block must not scatter to one row twice.
BlockLayout BuildBlockLayout(const Routing& routing, const BlockLayoutOptions& options);

// The capacity layout: block e holds the rows of expert e, and N == E. An expert keeps its first
// capacity = min(T, ceil(T k factor / E)) rows in token order and drops the rest; the block size is
// the capacity rounded up to a multiple of `multiple`. `dropped_rows` says how many were lost.
BlockLayout BuildDroppingLayout(const Routing& routing, double capacity_factor, bool skip_token,
                                std::int64_t multiple = 256);

// N alone, for capacity questions.
int BlocksNeeded(std::int64_t tokens, int top_k, int experts, int block_size, bool pad_to_even);

}  // namespace bwmm::host
