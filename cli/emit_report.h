// The end of every run: where it came from goes into the report, the report to stdout and to JSON.
#pragma once

#include "cli/run_options.h"
#include "workloads/run_report.h"

namespace bwmm::cli {

// Fills `report.provenance`; `more_inputs` are files read that no argument names.
void AddProvenance(const CommonOptions& options, const std::vector<std::string>& more_inputs,
                   workloads::RunReport& report);

// Writes and prints; false when a check failed.
bool EmitReport(const CommonOptions& options, const workloads::RunReport& report);

}  // namespace bwmm::cli
