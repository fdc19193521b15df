// A program of all cores as data: tensors and instructions, so that it can be cut, written and
// read.
//
//   tensors --> HBM          cores[c] --> the sink of core c, one step after the other
//
// A step may hang on a register: it is emitted only while the value its register_load found is
// large enough. That is how a loop whose length the machine computes looks when it is written out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/isa/instruction.h"
#include "model/isa/sink.h"

namespace bwmm::replay {

enum class Contents : std::uint8_t {
  kSeed,       // moderate values
  kEdges,      // with Inf, NaN payloads, -0, subnormals, largest values among them
  kBytes,      // as listed
  kUnwritten,  // an output: reading it before it is written is an error
};

struct ReplayTensor {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<std::int64_t> shape;
  std::uint64_t address = 0;
  Contents contents = Contents::kUnwritten;
  std::uint64_t seed = 0;        // kSeed, kEdges
  std::vector<std::byte> bytes;  // kBytes

  std::uint64_t size_bytes() const {
    std::uint64_t bytes = SizeOf(dtype);
    for (const std::int64_t size : shape)
      bytes *= static_cast<std::uint64_t>(size);
    return bytes;
  }
};

// The register of instruction `load` is above `value`.
struct RegisterCondition {
  std::uint32_t load = 0;
  std::int32_t value = 0;

  friend bool operator==(const RegisterCondition&, const RegisterCondition&) = default;
};

// Ids grow along a core and name a register_load for its conditions; what the sink gives the
// instruction may differ.
struct ReplayStep {
  isa::Instruction instruction;
  std::optional<RegisterCondition> when = std::nullopt;
};

struct ReplayProgram {
  std::string machine = "trn3";
  std::vector<std::pair<std::string, std::string>> settings;  // machine keys that differ
  std::vector<ReplayTensor> tensors;
  std::vector<std::vector<ReplayStep>> cores = std::vector<std::vector<ReplayStep>>(2);

  std::size_t steps() const {
    std::size_t sum = 0;
    for (const auto& core : cores)
      sum += core.size();
    return sum;
  }
};

// Emits one core's steps. Answers which steps were emitted, in order: entry i became instruction i.
std::vector<std::size_t> EmitSteps(const std::vector<ReplayStep>& steps, isa::Sink& sink);

}  // namespace bwmm::replay
