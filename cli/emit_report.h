// The end of every run: where it came from goes into the report, the report to stdout and to JSON.
#pragma once

#include "cli/run_options.h"
#include "workloads/option.h"
#include "workloads/run_report.h"

namespace bwmm::cli {

// Fills `report.provenance`; `workload` are the workload's own options, `unnamed` files read that
// no argument names, `settings` what is set beside the machine's keys.
void AddProvenance(const CommonOptions& options, const std::vector<workloads::Option>& workload,
                   const std::vector<std::string>& unnamed,
                   const std::vector<workloads::KeyValue>& settings, workloads::RunReport& report);

// Writes and prints; false when a check failed.
bool EmitReport(const CommonOptions& options, const workloads::RunReport& report);

}  // namespace bwmm::cli
