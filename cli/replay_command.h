// `bwmm replay`: runs a program written as text, in every way there is, and compares.
#pragma once

#include <string>

namespace bwmm::cli {

struct ReplayCommand {
  std::string file;
  std::string fidelity = "all";
};

// True when the runs agree.
bool RunReplayCommand(const ReplayCommand& command);

}  // namespace bwmm::cli
