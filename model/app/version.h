// The version of the program, CMake's project version.
#pragma once

#include <string_view>

namespace bwmm::app {

std::string_view Version();

}  // namespace bwmm::app
