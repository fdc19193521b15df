// Instructions as plain data. Kernels emit them into a sink; the sequential executor and the timed
// machine give them meaning. Names and semantics follow NKI's instruction set; one struct per
// instruction with its description beside it (body/), one line of text each (text.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "model/isa/body/dma.h"
#include "model/isa/body/pe.h"
#include "model/isa/body/vector.h"

namespace bwmm::isa {

template <typename A, typename B, typename C>
struct OneOfThem;
template <typename... A, typename... B, typename... C>
struct OneOfThem<OpList<A...>, OpList<B...>, OpList<C...>> {
  using Type = std::variant<A..., B..., C...>;
};
using Body = OneOfThem<ArrayOps, VectorOps, DmaOps>::Type;

struct Instruction {
  std::uint32_t id = 0;  // per core, in program order from 0
  int core = 0;
  Engine engine = Engine::kTensor;
  Body body;
};

// The traits of every instruction, in the variant's order.
template <typename Variant>
struct TraitsTable;
template <typename... Ops>
struct TraitsTable<std::variant<Ops...>> {
  static constexpr std::array<Traits, sizeof...(Ops)> kAll = {Ops::kTraits...};
};

constexpr const Traits& TraitsOf(const Body& body) {
  return TraitsTable<Body>::kAll[body.index()];
}

std::string_view NameOf(Engine engine);
std::string_view NameOf(AluOp op);
std::string_view OpcodeOf(const Instruction& instruction);  // "load_stationary", "dma_copy", ...

}  // namespace bwmm::isa
