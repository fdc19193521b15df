// bwmm run, and the subcommands that run one workload: everything about a run that no workload says
// itself.
//
//   options checked --> Prepare --> dry run --> machine or executor --> outputs, verdict --> report
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/run_options.h"
#include "workloads/registry.h"

namespace bwmm::cli {

struct RunCommand {
  std::string name = "run";  // the subcommand
  CommonOptions common;
  std::string dump_tile;        // core,instruction,directory
  bool sequential = false;      // the executor instead of the machine: bits, no time
  std::set<std::string> given;  // options of the command line, "--seed"
};

// Prints the report; false when the result is outside its bound.
bool RunWorkload(const RunCommand& command, const workloads::Entry& entry,
                 workloads::Workload& workload);

// The workload these arguments (without the program) run: `run --workload NAME`, or a subcommand of
// its own. None for another command; SimError for a name that is none.
std::optional<workloads::Entry> WorkloadOf(const std::vector<std::string>& arguments);

}  // namespace bwmm::cli
