// Stands in for the Verilated engines in a build without them (BWMM_RTL=OFF).
#include "model/engine/make_engines.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {

std::unique_ptr<TensorEngine> MakeRtlTensorEngine(const TensorEngineConfig& /*config*/) {
  throw SimError("fidelity rtl: this build has no RTL (BWMM_RTL=OFF), allowed fast and timing");
}

std::unique_ptr<QuantizeMxEngine> MakeRtlQuantizeMx() {
  throw SimError("fidelity rtl: this build has no RTL (BWMM_RTL=OFF), allowed fast and timing");
}

}  // namespace bwmm::engine
