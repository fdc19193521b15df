// bwmm run: one MoE layer on the machine, or on the sequential executor.
#pragma once

#include <set>
#include <string>

#include "cli/run_options.h"
#include "workloads/run_report.h"

namespace bwmm::cli {

struct LayerCommand {
  CommonOptions common;
  std::string model;    // a preset; or
  std::string config;   // a TOML file
  std::string variant;  // a name or number; empty: the first that fits the model
  int tokens = 256;
  int block_size = 256;
  std::string routing;
  std::string check = "auto";   // on, worst_case, off; auto: up to a size that takes seconds
  std::string output;           // .npy or .safetensors for the result
  std::string dump_tile;        // core,instruction,directory
  bool sequential = false;      // the executor instead of the machine: bits, no time
  std::set<std::string> given;  // options of the command line, "--seed"
};

// Prints the report; false when the result is outside its bound.
bool RunLayer(const LayerCommand& command);

}  // namespace bwmm::cli
