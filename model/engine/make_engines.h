// Factories: one engine per core, several may exist.
#pragma once

#include <memory>

#include "model/engine/quantize_mx_engine.h"
#include "model/engine/tensor_engine.h"

namespace bwmm::engine {

std::unique_ptr<TensorEngine> MakeFastTensorEngine(const TensorEngineConfig& config);
// Commands carry no data and nothing is computed; the events are the same. PSUM holds what other
// engines write there, integers on their way to an index among it.
std::unique_ptr<TensorEngine> MakeTimingTensorEngine(const TensorEngineConfig& config);
// Verilated: 128x128 and 32x64 arrays with 4096 PSUM words exist. Throws SimError for another
// configuration, and always in a build without RTL. `x_seed` fills uninitialised state with random
// bits (0: zeros), which must not change anything.
std::unique_ptr<TensorEngine> MakeRtlTensorEngine(const TensorEngineConfig& config, int x_seed = 0);

// False in a build without RTL.
bool HasRtl();

std::unique_ptr<QuantizeMxEngine> MakeFastQuantizeMx();
std::unique_ptr<QuantizeMxEngine> MakeRtlQuantizeMx();

}  // namespace bwmm::engine
