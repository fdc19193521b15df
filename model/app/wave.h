// --wave: core 0's TensorEngine with its probe in an FST dump.
#pragma once

#include <memory>
#include <string>

#include "model/app/run_options.h"

namespace bwmm::app {

// Lets `run` trace core 0 when the options name a dump. SimError for a probe or window that is not
// one, and when the dump cannot be begun. The text is empty unless the run could not finish it.
std::shared_ptr<const std::string> TraceCore0(const CommonOptions& options,
                                              const MachineConfig& machine, RunOptions& run);

}  // namespace bwmm::app
