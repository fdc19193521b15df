#include "cli/words.h"

#include <utility>

namespace bwmm::cli {

std::vector<Word> WordsOf(const std::vector<std::string>& arguments) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& text = arguments[i];
    Word word{.option = text.substr(0, text.find('=')), .value = {}, .text = {text}};
    if (word.option.size() < text.size()) {
      word.value = text.substr(word.option.size() + 1);
    } else if (text.starts_with("--") && i + 1 < arguments.size() &&
               !arguments[i + 1].starts_with("--")) {
      word.value = arguments[++i];
      word.text.push_back(word.value);
    }
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace bwmm::cli
