// Runs a program in several ways; a difference is cut down to a short program and written as a
// replay file.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/app/replay_compare.h"
#include "model/app/replay_file.h"
#include "model/app/replay_shrink.h"
#include "model/support/write_file.h"

namespace bwmm::test {

// One way to run a program: a mode, and options for the machine's.
struct Way {
  app::ReplayMode mode = app::ReplayMode::kFast;
  RunOptions options = {};
};

inline RunOptions InReverse() {
  RunOptions options;
  options.build_in_reverse = true;
  return options;
}

struct Failure {
  app::DivergenceKind kind = app::DivergenceKind::kError;
  std::string text;
  bool refused = false;  // by the first way: random programs are legal
};

inline std::optional<Failure> Differs(const app::ReplayProgram& program,
                                      const std::vector<Way>& ways) {
  std::optional<app::ReplayOutcome> first;
  for (const Way& way : ways) {
    app::ReplayOutcome outcome = app::RunReplay(program, way.mode, way.options);
    if (!first) {
      if (!outcome.error.empty())
        return Failure{app::DivergenceKind::kError, outcome.error, true};
      first = std::move(outcome);
    } else if (auto found = app::FirstDivergence(program, *first, outcome)) {
      return Failure{found->kind, found->text, false};
    }
  }
  return std::nullopt;
}

// What is left of a program that fails in this way, once nothing can be taken out.
inline app::ReplayProgram ShrinkFailure(const app::ReplayProgram& program,
                                        const std::vector<Way>& ways, app::DivergenceKind kind) {
  constexpr int kTries = 400;
  return app::Shrink(
      program,
      [&](const app::ReplayProgram& smaller) {
        const auto found = Differs(smaller, ways);
        return found && !found->refused && found->kind == kind;
      },
      kTries);
}

// Empty when all ways agree; else the difference, the short program and where it is written.
inline std::string CheckProgram(const app::ReplayProgram& program, const std::vector<Way>& ways,
                                const std::string& path) {
  const auto found = Differs(program, ways);
  if (!found)
    return "";
  const std::string text =
      app::ToText(found->refused ? program : ShrinkFailure(program, ways, found->kind));
  WriteFileAtomically(path, {BytesOf(text)});
  return fmt::format("{}\nreplay file {}:\n{}", found->text, path, found->refused ? "" : text);
}

}  // namespace bwmm::test
