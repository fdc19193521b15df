// The terms in which an instruction is described, once, beside its struct (model/isa/body/):
//
//   static constexpr Traits kTraits        what it is called, who takes it, who carries it out
//   static void Describe(self, visitor)    its fields in the order of its text
//
// Text, parser, accesses, checkers, control-ness and the common rules are visitors of Describe, so
// a field that is described is known to all of them. A visitor has
//
//   Field(name, value)                 an enum, a number or a flag; an optional one may be left out
//   Word(name, word)                   a fixed word
//   Operand(name, use, operand)        an Operand, an optional one, or a ScalarArg
//   Last(name, use, scalar, shown)     a ScalarArg left out of the text when +0 and not `shown`
//   Table(name, use, operand, rows, offset)   an operand with dynamic rows or a dynamic start
//   Each(name, use, operands)          a list
//   Part(name, part)                   the rows or the start of a table
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace bwmm::isa {

enum class Engine : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync };
inline constexpr int kEngines = 5;

// DMAs complete out of order, everything else in order.
enum class Unit : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync, kDma };
inline constexpr int kUnits = 6;

enum class Role : std::uint8_t {
  kRead,
  kWritten,
  kAccumulated,   // read, then written
  kScaleRead,     // quadrant layout
  kScaleWritten,  // quadrant layout
  kIndex,         // read before the data, to know where they are
  kOrdered,       // accesses to it are ordered, the bytes stay
  kUnread,        // named only
};
constexpr bool Reads(Role role) {
  return role != Role::kWritten && role != Role::kScaleWritten && role != Role::kUnread;
}
constexpr bool Writes(Role role) {
  return role == Role::kWritten || role == Role::kScaleWritten || role == Role::kAccumulated ||
         role == Role::kOrdered;
}
constexpr bool IsScale(Role role) {
  return role == Role::kScaleRead || role == Role::kScaleWritten;
}

// Where it may be. kLocal: SBUF or PSUM, types with element arithmetic. kMoved: what DMAs reach.
// kOwn: the instruction's own rules say.
enum class Place : std::uint8_t { kOwn, kLocal, kMoved };

// Against `dst`: of its shape, one element in each of its partitions (or one for all), any.
enum class Shape : std::uint8_t { kAny, kOfDst, kPerPartition };

struct Use {
  Role role = Role::kRead;
  Place place = Place::kOwn;
  Shape shape = Shape::kAny;
};

// Who carries it out: ops::Execute; the tensor unit; whoever runs all cores; the sequencer.
enum class Owner : std::uint8_t { kOps, kArray, kMeeting, kSequencer };

// Whether it is executed at timing fidelity, where only indices and conditions have values.
enum class Control : std::uint8_t { kNever, kOnInt32 };

constexpr std::uint8_t OneOf(std::initializer_list<Engine> engines) {
  std::uint8_t set = 0;
  for (const Engine engine : engines)
    set |= static_cast<std::uint8_t>(1u << static_cast<int>(engine));
  return set;
}
inline constexpr std::uint8_t kTheArray = OneOf({Engine::kTensor});
inline constexpr std::uint8_t kAnyQueue =
    OneOf({Engine::kVector, Engine::kScalar, Engine::kGpSimd, Engine::kSync});

struct Traits {
  std::string_view opcode;
  std::uint8_t engines;  // that may queue it
  Owner owner;
  Control control;
  std::optional<Unit> unit = std::nullopt;  // that completes it, when not the engine's own

  constexpr bool allows(Engine engine) const { return engines >> static_cast<int>(engine) & 1; }
};

// The instructions of one file.
template <typename... Ops>
struct OpList {};

}  // namespace bwmm::isa
