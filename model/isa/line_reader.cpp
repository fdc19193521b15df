#include "model/isa/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "model/isa/text.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

// What a message shows of a token.
constexpr std::size_t kShown = 40;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string Listed(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names)
    list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace

void LineReader::SkipSpaces() {
  while (!AtEnd() && text_[at_] == ' ')
    ++at_;
}

bool LineReader::Take(std::string_view token) {
  if (!Sees(token))
    return false;
  at_ += token.size();
  return true;
}

void LineReader::Expect(std::string_view token) {
  if (!Take(token))
    Fail('"' + std::string(token) + '"');
}

std::string_view LineReader::Word() {
  const std::size_t begin = at_;
  while (!AtEnd() && IsWordCharacter(text_[at_]))
    ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view LineReader::Token() {
  const std::size_t begin = at_;
  at_ = std::min(text_.find(' ', at_), text_.size());
  return text_.substr(begin, at_ - begin);
}

std::int64_t LineReader::Integer(std::int64_t low, std::int64_t high) {
  const std::size_t begin = at_;
  const bool hex = Take("0x");
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, hex ? 16 : 10);
  if (error != std::errc() || value < low || value > high)
    FailAt(begin, fmt::format("{} to {}", low, high));
  at_ = end - text_.data();
  return value;
}

float LineReader::Number() {
  const std::size_t begin = at_;
  if (Take("nan:")) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(Integer(0, 0xffffffff)));
    if (!std::isnan(value))
      FailAt(begin, "the bits of a NaN");
    return value;
  }
  if (Take("nan"))
    return std::bit_cast<float>(kCanonicalNan);
  float value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc() || std::isnan(value))
    FailAt(begin, "a number of type float32, inf, -inf, nan or nan:0xBITS");
  at_ = end - text_.data();
  return value;
}

std::size_t LineReader::OneOf(std::span<const std::string_view> names) {
  const std::size_t begin = at_;
  const auto found = std::ranges::find(names, Word());
  if (found == names.end())
    FailAt(begin, Listed(names));
  return found - names.begin();
}

void LineReader::ExpectEnd() {
  SkipSpaces();
  if (!AtEnd())
    Fail("the end of the line");
}

void LineReader::Fail(std::string_view allowed) const {
  FailAt(at_, allowed);
}

void LineReader::FailAt(std::size_t column, std::string_view allowed) const {
  std::string_view token = text_.substr(column);
  token = token.substr(0, std::min(token.find(' '), kShown));
  throw SimError("column {}: {}, allowed {}", column + 1,
                 column == text_.size() ? "end of line"
                 : token.empty()        ? "a space"
                                        : token,
                 allowed);
}

}  // namespace bwmm::isa
