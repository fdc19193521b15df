// The Verilated array sizes and the choice between them.
#include <memory>

#include "VTensorEngine128x128.h"
#include "VTensorEngine32x64.h"
#include "model/engine/make_engines.h"
#include "model/engine/rtl_tensor_engine_impl.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {

bool HasRtl() {
  return true;
}

std::unique_ptr<TensorEngine> MakeRtlTensorEngine(const TensorEngineConfig& config, int x_seed) {
  constexpr int kPsumWords = 4096;
  if (config.psum_words != kPsumWords)
    throw SimError(
        "TensorEngine RTL: PSUM has {} words per partition (banks x bank_bytes / 4), the RTL is "
        "built with {}; fast and timing take any",
        config.psum_words, kPsumWords);
  if (config.rows == 128 && config.cols == 128)
    return std::make_unique<RtlTensorEngine<VTensorEngine128x128, 128, 128>>(config, x_seed);
  if (config.rows == 32 && config.cols == 64)
    return std::make_unique<RtlTensorEngine<VTensorEngine32x64, 32, 64>>(config, x_seed);
  throw SimError(
      "TensorEngine RTL: array is {}x{}, the RTL is built as 128x128 and 32x64; fast and timing "
      "take any",
      config.rows, config.cols);
}

}  // namespace bwmm::engine
