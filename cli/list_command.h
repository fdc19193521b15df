// bwmm list models|variants|machines|counters: what the other subcommands accept and report.
#pragma once

#include <string>

namespace bwmm::cli {

// SimError for anything else.
std::string ListText(const std::string& what);

}  // namespace bwmm::cli
