// Text from outside on its way to a terminal or a JSON file: one line of valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace bwmm {

// A control character becomes '?', a byte that is no UTF-8 the replacement character U+FFFD.
std::string Printable(std::string_view text);

// The same, but a line break in front of two blanks stays, for the indented lines of a report.
std::string PrintableLines(std::string_view text);

// Whether all of it is valid UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace bwmm
