// Errors a user can cause: a wrong program, a wrong configuration or bad input.
//
// The text is one line that names the thing, its value and what is allowed. It is caught only in
// main.cpp (exit 2) and in tests. A broken invariant of our own is a Check, not a SimError.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace bwmm {

class SimError : public std::runtime_error {
 public:
  explicit SimError(std::string text) : std::runtime_error(Whole(std::move(text))) {}

  template <typename... Args>
  SimError(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0)
      : SimError(fmt::format(format, std::forward<Args>(args)...)) {}

 private:
  // what() ends at a NUL, and a value may hold one.
  static std::string Whole(std::string text) {
    std::ranges::replace(text, '\0', '?');
    return text;
  }
};

}  // namespace bwmm
