// Check(condition, "what must hold"): an invariant of the simulator itself, on in every build type.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string_view>

namespace bwmm {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void Check(bool holds, std::string_view what,
                  std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]] {
    throw CheckFailure(
        fmt::format("{}:{}: internal check failed: {}", where.file_name(), where.line(), what));
  }
}

}  // namespace bwmm
