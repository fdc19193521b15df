// Who completes an instruction, and what opens before it may start: the terms in which order is
// spoken of, by the machine and by the checkers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/isa/instruction.h"

namespace bwmm::isa {

// DMAs complete out of order, everything else in order.
enum class Unit : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync, kDma };
inline constexpr int kUnits = 6;

constexpr std::string_view NameOf(Unit unit) {
  constexpr std::array<std::string_view, kUnits> kNames = {"tensor", "vector", "scalar",
                                                           "gpsimd", "sync",   "dma"};
  return kNames[static_cast<int>(unit)];
}

// kStart lets an instruction start. kData lets the transfer of a DMA with software descriptors
// start; its kStart gate lets GpSimd write the descriptors.
enum class Gate : std::uint8_t { kStart, kData };

// Whatever engine queues it, a transfer is the DMA unit's and a core_barrier GpSimd's.
constexpr Unit UnitOf(const Instruction& instruction) {
  const Body& body = instruction.body;
  if (std::holds_alternative<DmaCopy>(body) || std::holds_alternative<DmaCompute>(body) ||
      std::holds_alternative<SendRecv>(body))
    return Unit::kDma;
  if (std::holds_alternative<CoreBarrier>(body))
    return Unit::kGpSimd;
  return static_cast<Unit>(instruction.engine);
}

// A gather or scatter: GpSimd writes its descriptors.
constexpr bool HasSoftwareDescriptors(const Instruction& instruction) {
  const auto* copy = std::get_if<DmaCopy>(&instruction.body);
  return copy != nullptr && (copy->gather || copy->scatter);
}

constexpr bool IsMeeting(const Body& body) {
  return std::holds_alternative<CoreBarrier>(body) || std::holds_alternative<SendRecv>(body);
}

}  // namespace bwmm::isa
