// Settings as text: key=value split, a key found among those there are, a value read as a whole.
// The machine, the model and the kernel each have a table of keys; all of them are read here.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "model/support/check.h"

namespace bwmm {

struct KeyValue {
  std::string key, value;
};

// Both parts empty unless the text is key=value with both.
inline KeyValue SplitKeyValue(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return {};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

enum class Parsed { kNumber, kOutOfRange, kNoNumber };

// The whole text as a number; `value` is left alone where it is none.
template <typename T>
Parsed ParseWhole(std::string_view text, T& value) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return Parsed::kOutOfRange;
  if (error != std::errc() || end != text.data() + text.size())
    return Parsed::kNoNumber;
  value = number;
  return Parsed::kNumber;
}

template <typename Rows>
std::string KnownKeys(const Rows& rows) {
  std::string known;
  for (const auto& row : rows)
    known.append(known.empty() ? "" : ", ").append(row.key);
  return known;
}

// The row with this key; refuse(known keys) throws where there is none.
template <typename Rows, typename Refuse>
const auto& FindKey(const Rows& rows, std::string_view key, const Refuse& refuse) {
  for (const auto& row : rows) {
    if (row.key == key)
      return row;
  }
  refuse(KnownKeys(rows));
  throw CheckFailure("an unknown key is refused");
}

}  // namespace bwmm
