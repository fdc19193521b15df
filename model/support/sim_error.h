// Errors a user can cause: a wrong program, a wrong configuration or bad input.
//
// The text is one line that names the thing, its value and what is allowed. It is caught only in
// main.cpp (exit 2) and in tests. A broken invariant of our own is a Check, not a SimError.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace bwmm {

class SimError : public std::runtime_error {
 public:
  explicit SimError(const std::string& text) : std::runtime_error(text) {}

  template <typename... Args>
  SimError(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace bwmm
