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

// The file that `text` names: a path, or a tensor in one (path:type, path#name:type). Empty if it
// names none.
std::string FileOf(std::string text);

// Files that a run of a workload with these options reads, in the order of its command line, each
// once.
std::vector<std::string> InputsAmong(const std::vector<std::string>& arguments,
                                     const std::vector<workloads::Option>& workload);

// Of the bytes of a file.
std::string FileChecksum(const std::string& path);

}  // namespace bwmm::cli
