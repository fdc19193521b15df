// Check(condition, "what must hold"): an invariant of the simulator itself, on in every build type.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace bwmm {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// The compiler's own place of the call; clang 14 (clang-tidy) has no std::source_location.
inline void Check(bool holds, std::string_view what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) [[unlikely]] {
    throw CheckFailure(fmt::format("{}:{}: internal check failed: {}", file, line, what));
  }
}

}  // namespace bwmm
