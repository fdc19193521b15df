// bwmm rerun report.json: repeats the run a JSON report came from, and compares.
//
//   report.json --arguments, inputs--> checked --> the same command line --> report --+
//        |                                                                            v
//        +------- checksum, cycles, every class of every unit, bytes ----------> what differs
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/option.h"

namespace bwmm::cli {

// Runs a command line (without the program's name) and returns its JSON report.
using RunArguments = std::function<std::string(const std::vector<std::string>&)>;

// Prints what is equal and what is not; false on a difference. SimError when the report is none, is
// of another version, or names a file that is gone or has changed.
bool Rerun(const std::string& path, const RunArguments& run);

// Of the bytes of a file.
std::string FileChecksum(const std::string& path);

}  // namespace bwmm::cli
