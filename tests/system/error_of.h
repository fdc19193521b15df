// The words a run is refused with.
#pragma once

#include <functional>
#include <string>

#include "model/support/sim_error.h"

namespace bwmm::test {

inline std::string ErrorOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const SimError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace bwmm::test
