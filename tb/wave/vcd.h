// A waveform read back: fst2vcd's text, one point in time after the other.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace bwmm::tb {

// The waveform as VCD; fst2vcd comes with gtkwave.
inline std::string VcdOf(const std::string& path) {
  const std::string command = "fst2vcd '" + path + "'";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::ostringstream text;
  char line[4096];
  while (fgets(line, sizeof line, pipe.get()) != nullptr)
    text << line;
  return text.str();
}

class Vcd {
 public:
  explicit Vcd(const std::string& path) : text_(VcdOf(path)) {
    std::vector<std::string> scope;
    for (std::string word; text_ >> word && word != "$enddefinitions";) {
      std::string kind, name, id;
      if (word == "$scope") {
        text_ >> kind >> name;
        scope.push_back(name);
      } else if (word == "$upscope") {
        scope.pop_back();
      } else if (word == "$var") {
        std::string width;
        text_ >> kind >> width >> id >> name;
        ids_[(scope.empty() ? "" : scope.back() + ".") + name] = id;
      }
    }
    std::string rest;
    std::getline(text_, rest);
    while (std::getline(text_, rest) && rest[0] != '#') {
    }
    next_time_ = rest;
  }

  // Takes the changes of the next point in time; false after the last.
  bool Next() {
    if (next_time_.size() < 2)
      return false;
    time_ = std::stoull(next_time_.substr(1));
    next_time_.clear();
    for (std::string line; std::getline(text_, line);) {
      if (line[0] == '#') {
        next_time_ = line;
        break;
      }
      const std::size_t blank = line.find(' ');
      if (line[0] == 'b' || line[0] == 'r')
        values_[line.substr(blank + 1)] = line.substr(1, blank - 1);
      else if (line[0] != '$')
        values_[line.substr(1)] = line.substr(0, 1);
    }
    return true;
  }

  std::uint64_t time() const { return time_; }
  bool Has(const std::string& signal) const { return ids_.contains(signal); }
  // The digits of a signal called scope.name, innermost scope only.
  const std::string& Text(const std::string& signal) const { return values_.at(ids_.at(signal)); }
  double Real(const std::string& signal) const { return std::stod(Text(signal)); }

 private:
  std::istringstream text_;
  std::map<std::string, std::string> ids_;
  std::map<std::string, std::string> values_;  // by id
  std::string next_time_;
  std::uint64_t time_ = 0;
};

}  // namespace bwmm::tb
