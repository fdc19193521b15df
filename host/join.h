// "a, b, c": lists in error texts.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace bwmm::host {

template <typename Range>
std::string Join(const Range& range, std::string_view separator = ", ") {
  std::string text;
  for (const auto& item : range) {
    if (!text.empty())
      text += separator;
    text += fmt::format("{}", item);
  }
  return text;
}

}  // namespace bwmm::host
