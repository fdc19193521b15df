// Stands in for the Verilated engines in a build without them (BWMM_RTL=OFF).
#include "model/engine/engine_trace.h"
#include "model/engine/make_engines.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {

bool HasRtl() {
  return false;
}

std::unique_ptr<TensorEngine> MakeRtlTensorEngine(const TensorEngineConfig& /*config*/,
                                                  int /*x_seed*/) {
  throw SimError("fidelity rtl: this build has no RTL (BWMM_RTL=OFF), allowed fast and timing");
}

std::unique_ptr<QuantizeMxEngine> MakeRtlQuantizeMx() {
  throw SimError("fidelity rtl: this build has no RTL (BWMM_RTL=OFF), allowed fast and timing");
}

TracedTensorEngine MakeTracedRtlTensorEngine(const TensorEngineConfig& /*config*/,
                                             const TraceOptions& /*options*/) {
  throw SimError("wave: this build has no RTL (BWMM_RTL=OFF) and only RTL has waves");
}

}  // namespace bwmm::engine
