// The verdict on a layer's result, in the report's terms.
#pragma once

#include <string>

#include "model/app/layer_job.h"
#include "model/app/run_report.h"

namespace bwmm::app {

// `check` is auto, on, off or worst_case; SimError otherwise.
enum class CheckMode { kAuto, kOn, kWorstCase, kOff };
CheckMode CheckModeOf(const std::string& check);

// Sets report.error, or why there is none.
void JudgeLayer(CheckMode mode, LayerJob& job, RunReport& report);

ErrorReport ErrorOf(const reference::Comparison& comparison, bool worst_case);

}  // namespace bwmm::app
