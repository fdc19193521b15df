// How a transfer is cut into descriptors and spread over the DMA engines.
//
//   SBUF partitions   0 .. 7   8 .. 15   ...  120 .. 127
//   DMA engine           0        1      ...      15        (128 partitions over 16 engines)
//
// A descriptor moves one run of bytes that is contiguous at both ends. A copy within HBM is spread
// over all engines by rows, and a long run is cut so that every engine has a part. Rows that a
// gather or scatter skips move nothing; the others belong to the engine of their partition.
// Sources: T1 (descriptors), DMAO (work split), see model/presets/trn3.toml.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/instruction.h"

namespace bwmm::units {

struct DmaShape {
  int engines = 16;
  int partitions = 128;
  std::int64_t compute_percent = 50;
};

// One engine's part.
struct DmaPart {
  int engine = 0;
  std::int64_t bytes = 0;  // that the engine's time is counted for
  std::int64_t descriptors = 0;
  std::int64_t hbm_read = 0;
  std::int64_t hbm_write = 0;
  std::uint64_t read_address = 0;
  std::uint64_t write_address = 0;
};

// Parts of a DmaCopy, DmaCompute or SendRecv (its outgoing half), in the order of the engines.
// `lanes` are the rows a gather or scatter moves; others do not look at it.
std::vector<DmaPart> PlanTransfer(const isa::Instruction& instruction,
                                  const std::vector<int>& lanes, const DmaShape& shape);

// An engine serves its queues in turns of at most `most` bytes: how many a part takes, and one of
// them, which goes on where the last one ended. Their sums are the part's.
std::int64_t TurnsOf(const DmaPart& part, std::int64_t most);
DmaPart TurnOf(const DmaPart& part, std::int64_t turn, std::int64_t turns);

}  // namespace bwmm::units
