// The verdict on a layer's result, in the report's terms.
#pragma once

#include <string>

#include "workloads/moe_cte/layer_job.h"
#include "workloads/run_report.h"

namespace bwmm::workloads {

// `check` is auto, on, off or worst_case; SimError otherwise.
enum class CheckMode { kAuto, kOn, kWorstCase, kOff };
CheckMode CheckModeOf(const std::string& check);

Verdict JudgeLayer(CheckMode mode, LayerJob& job);

ErrorReport ErrorOf(const reference::Comparison& comparison, bool worst_case);

}  // namespace bwmm::workloads
