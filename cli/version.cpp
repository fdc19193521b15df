#include "cli/version.h"

namespace bwmm::cli {

std::string_view Version() {
  return BWMM_VERSION;
}

}  // namespace bwmm::cli
