// The report for programs: the keys scripts use, one entry per core, and what repeats the run.
#pragma once

#include <string>

#include "model/app/run_report.h"

namespace bwmm::app {

std::string ToJson(const RunReport& report);

}  // namespace bwmm::app
