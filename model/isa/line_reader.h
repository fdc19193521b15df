// Reads one line of text from left to right. A SimError names the column, what stands there and
// what is allowed; whoever reads a file puts its name and the line's number in front.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bwmm::isa {

class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  void SkipSpaces();
  bool AtEnd() const { return at_ == text_.size(); }
  // Takes `token` when it stands here.
  bool Take(std::string_view token);
  bool Sees(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  // Takes `token`, or refuses what stands here.
  void Expect(std::string_view token);
  // Letters, digits and '_'; may be empty.
  std::string_view Word();
  // Everything up to the next space; may be empty.
  std::string_view Token();
  // A whole number, decimal or, after 0x, hexadecimal.
  std::int64_t Integer(std::int64_t low, std::int64_t high);
  float Number();
  // The index of the word in `names`.
  std::size_t OneOf(std::span<const std::string_view> names);
  void ExpectEnd();

  // SimError: "column 12: sbug[0, allowed hbm, sbuf, psum".
  [[noreturn]] void Fail(std::string_view allowed) const;
  // The same about the token that begins at `column`, counted from 0.
  [[noreturn]] void FailAt(std::size_t column, std::string_view allowed) const;
  std::size_t column() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace bwmm::isa
