// The subcommand that runs one workload: its options are the runner's and the workload's own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/run_command.h"
#include "workloads/registry.h"

namespace bwmm::cli {

// What the chosen subcommand does; false when a check failed.
using Action = std::function<bool()>;

class WorkloadCommand {
 public:
  // Adds the subcommand to `cli`; parsed, it sets `action`. SimError for an option of the workload
  // that is one of the runner's.
  WorkloadCommand(CLI::App& cli, const std::string& name, const std::string& help,
                  workloads::Entry entry, const std::vector<std::string>& arguments,
                  std::string* captured_json, Action& action);

 private:
  RunCommand command_;
  workloads::Entry entry_;
  std::unique_ptr<workloads::Workload> workload_;
};

}  // namespace bwmm::cli
