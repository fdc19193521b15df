// The version of the program, CMake's project version.
#pragma once

#include <string_view>

namespace bwmm::cli {

std::string_view Version();

}  // namespace bwmm::cli
