// Runs a program in several ways; a difference is cut down to a short program and written as a
// replay file.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/support/write_file.h"
#include "replay/replay_compare.h"
#include "replay/replay_file.h"
#include "replay/replay_shrink.h"

namespace bwmm::test {

// One way to run a program: a mode, and options for the machine's.
struct Way {
  replay::ReplayMode mode = replay::ReplayMode::kFast;
  RunOptions options = {};
};

inline RunOptions InReverse() {
  RunOptions options;
  options.build_in_reverse = true;
  return options;
}

struct Failure {
  replay::DivergenceKind kind = replay::DivergenceKind::kError;
  std::string text;
  bool refused = false;  // by the first way: random programs are legal
};

inline std::optional<Failure> Differs(const replay::ReplayProgram& program,
                                      const std::vector<Way>& ways) {
  std::optional<replay::ReplayOutcome> first;
  for (const Way& way : ways) {
    replay::ReplayOutcome outcome = replay::RunReplay(program, way.mode, way.options);
    if (!first) {
      if (!outcome.error.empty())
        return Failure{replay::DivergenceKind::kError, outcome.error, true};
      first = std::move(outcome);
    } else if (auto found = replay::FirstDivergence(program, *first, outcome)) {
      return Failure{found->kind, found->text, false};
    }
  }
  return std::nullopt;
}

// What is left of a program that fails in this way, once nothing can be taken out.
inline replay::ReplayProgram ShrinkFailure(const replay::ReplayProgram& program,
                                           const std::vector<Way>& ways,
                                           replay::DivergenceKind kind) {
  constexpr int kTries = 400;
  return replay::Shrink(
      program,
      [&](const replay::ReplayProgram& smaller) {
        const auto found = Differs(smaller, ways);
        return found && !found->refused && found->kind == kind;
      },
      kTries);
}

// Empty when all ways agree; else the difference, the short program and where it is written.
inline std::string CheckProgram(const replay::ReplayProgram& program, const std::vector<Way>& ways,
                                const std::string& path) {
  const auto found = Differs(program, ways);
  if (!found)
    return "";
  const std::string text =
      replay::ToText(found->refused ? program : ShrinkFailure(program, ways, found->kind));
  WriteFileAtomically(path, {BytesOf(text)});
  return fmt::format("{}\nreplay file {}:\n{}", found->text, path, found->refused ? "" : text);
}

}  // namespace bwmm::test
