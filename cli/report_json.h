// The report for programs: the keys scripts use, one entry per core, and what repeats the run.
#pragma once

#include <string>

#include "workloads/run_report.h"

namespace bwmm::cli {

std::string ToJson(const workloads::RunReport& report);

}  // namespace bwmm::cli
