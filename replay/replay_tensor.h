// What a replay's tensors hold before the run.
#pragma once

#include <cstddef>
#include <vector>

#include "model/ops/memory.h"
#include "replay/replay_program.h"

namespace bwmm::replay {

// Depends on dtype, size and seed alone. With edges, one element column in sixteen holds values at
// the edges of its type, so that matmuls keep columns without them.
std::vector<std::byte> Filled(DType dtype, std::size_t bytes, std::uint64_t seed, bool edges);

// Puts the tensor into `hbm`. In timing only int32 tensors have data.
void PlaceTensor(ops::Hbm& hbm, const ReplayTensor& tensor, bool control_only);

}  // namespace bwmm::replay
