#include "model/app/version.h"

namespace bwmm::app {

std::string_view Version() {
  return BWMM_VERSION;
}

}  // namespace bwmm::app
