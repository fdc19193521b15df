#include "host/npy_dictionary.h"

#include <charconv>
#include <utility>

#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  NpyDictionary Read() {
    NpyDictionary result;
    Expect('{');
    while (!TryTake('}')) {
      const std::string_view key = QuotedText();
      Expect(':');
      if (key == "descr") {
        Once(seen_descr_, key);
        result.descr = QuotedText();
      } else if (key == "fortran_order") {
        Once(seen_order_, key);
        result.fortran_order = Boolean();
      } else if (key == "shape") {
        Once(seen_shape_, key);
        result.shape = Shape();
      } else {
        throw SimError("{}: header key '{}', descr, fortran_order and shape are known", place_,
                       key);
      }
      if (!TryTake(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (at_ != text_.size())
      throw SimError("{}: header has text after its dictionary", place_);
    if (!seen_descr_ || !seen_order_ || !seen_shape_)
      throw SimError("{}: header lacks one of descr, fortran_order, shape", place_);
    return result;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool TryTake(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted)
      return false;
    ++at_;
    return true;
  }
  void Expect(char wanted) {
    if (!TryTake(wanted))
      throw SimError("{}: header byte {} is not the expected '{}'", place_, at_, wanted);
  }
  void Once(bool& seen, std::string_view key) {
    if (std::exchange(seen, true))
      throw SimError("{}: header key '{}' comes twice", place_, key);
  }
  std::string_view QuotedText() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      throw SimError("{}: header byte {} should begin a quoted text", place_, at_);
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }
  bool Boolean() {
    SkipSpace();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, std::pair{std::string_view("False"), false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    throw SimError("{}: header fortran_order must be True or False", place_);
  }
  std::vector<std::int64_t> Shape() {
    std::vector<std::int64_t> shape;
    Expect('(');
    while (!TryTake(')')) {
      SkipSpace();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc())
        throw SimError("{}: header shape has something that is not a 64-bit integer", place_);
      at_ += static_cast<std::size_t>(end - begin);
      shape.push_back(extent);
      if (!TryTake(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
  bool seen_descr_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

}  // namespace

NpyDictionary ReadNpyDictionary(std::string_view text, const std::string& place) {
  return Reader(text, place).Read();
}

}  // namespace bwmm::host
