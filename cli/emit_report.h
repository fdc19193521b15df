// The end of every run: where it came from goes into the report, the report to stdout and to JSON.
#pragma once

#include "cli/run_options.h"
#include "workloads/run_report.h"

namespace bwmm::cli {

// Fills `report.provenance`; `inputs` are the files the workload reads, whoever names them,
// `settings` what is set beside the machine's keys.
void AddProvenance(const CommonOptions& options, const std::vector<NamedFile>& inputs,
                   const std::vector<KeyValue>& settings, workloads::RunReport& report);

// Writes and prints; false when a check failed.
bool EmitReport(const CommonOptions& options, const workloads::RunReport& report);

}  // namespace bwmm::cli
