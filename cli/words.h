// The options of a command line, for who reads one before it is parsed or after it has run.
#pragma once

#include <string>
#include <vector>

namespace bwmm::cli {

// One option as it stands there: `--name value`, `--name=value`, or one word.
struct Word {
  std::string option;
  std::string value;
  std::vector<std::string> text;
};

std::vector<Word> WordsOf(const std::vector<std::string>& arguments);

}  // namespace bwmm::cli
