// What a unit's time goes to: every tick belongs to exactly one class.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bwmm::isa {

enum class TimeClass : std::uint8_t {
  kBusy,
  kTensor,      // waits for the TensorEngine
  kVector,      // .. the VectorEngine
  kScalar,      // .. the ScalarEngine
  kGpSimd,      // .. GpSimd
  kSync,        // .. the Sync engine
  kDma,         // .. a DMA
  kPeer,        // .. another core: core_barrier, sendrecv
  kControl,     // the program has not emitted it yet: it waits for a register or for room
  kStructural,  // the engine itself: clock edge, queue, fill, descriptor generation, start latency
  kIdle,        // no instruction is left
};
inline constexpr int kTimeClasses = 11;

constexpr std::string_view NameOf(TimeClass time_class) {
  constexpr std::array<std::string_view, kTimeClasses> kNames = {
      "busy", "tensor", "vector",  "scalar",     "gpsimd", "sync",
      "dma",  "peer",   "control", "structural", "idle"};
  return kNames[static_cast<int>(time_class)];
}

}  // namespace bwmm::isa
