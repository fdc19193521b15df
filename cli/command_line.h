// The subcommands and their options, parsed and run.
#pragma once

#include <string>
#include <vector>

namespace bwmm::cli {

// Runs a command line without the program's name; returns the exit code. SimError for what the user
// got wrong. With `captured_json` a run's JSON report goes there, and nothing is printed.
int RunCommandLine(const std::vector<std::string>& arguments, std::string* captured_json = nullptr);

}  // namespace bwmm::cli
