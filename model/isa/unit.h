// Who completes an instruction, and what opens before it may start: the terms in which order is
// spoken of, by the machine and by the checkers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/isa/instruction.h"

namespace bwmm::isa {

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
  return TraitsOf(instruction.body).unit.value_or(static_cast<Unit>(instruction.engine));
}

// A gather or scatter: GpSimd writes its descriptors.
constexpr bool HasSoftwareDescriptors(const Instruction& instruction) {
  const auto* copy = std::get_if<DmaCopy>(&instruction.body);
  return copy != nullptr && (copy->gather || copy->scatter);
}

constexpr bool IsMeeting(const Body& body) {
  return TraitsOf(body).owner == Owner::kMeeting;
}

}  // namespace bwmm::isa
