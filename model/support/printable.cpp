#include "model/support/printable.h"

#include <cstddef>

namespace bwmm {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool Continues(unsigned char byte) {
  return (byte & 0xc0) == 0x80;
}

// Bytes of the character at `at`; 0 when there is no valid one. Overlong forms, surrogates and what
// lies beyond U+10FFFF are not valid.
std::size_t LengthAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80)
    return 1;
  if (!Continues(static_cast<unsigned char>(second)))
    return 0;
  if (first >= 0xc2 && first <= 0xdf)
    return 2;
  const bool third = Continues(static_cast<unsigned char>(byte(2)));
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second >= 0xa0;
    return third && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool beyond = first == 0xf4 && second >= 0x90;
    const bool fourth = Continues(static_cast<unsigned char>(byte(3)));
    return third && fourth && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = LengthAt(text, at);
    if (length == 0)
      return false;
    at += length;
  }
  return true;
}

std::string Printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = LengthAt(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 1)
      result += byte < 0x20 || byte == 0x7f ? '?' : text[at];
    else
      result += length == 0 ? kReplacement : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return result;
}

std::string PrintableLines(std::string_view text) {
  constexpr std::string_view kIndented = "\n  ";
  const std::size_t end = text.find(kIndented);
  if (end == std::string_view::npos)
    return Printable(text);
  return Printable(text.substr(0, end)) + "\n" + PrintableLines(text.substr(end + 1));
}

}  // namespace bwmm
