// The finished waveform: what the RTL engine dumped, with the machine's engines beside it.
//
//   rtl.part --values by time--+
//                              +--> [ merge ] --> x.fst
//   machine states, by time ---+
#pragma once

#include <filesystem>
#include <vector>

#include "model/engine/machine_states.h"

namespace bwmm::engine {

// Both times are in the unit of `rtl`. Whether the writing went well, TakeFstError() says.
void MergeTrace(const std::filesystem::path& rtl, const std::vector<UnitChange>& machine,
                const std::filesystem::path& merged);

}  // namespace bwmm::engine
