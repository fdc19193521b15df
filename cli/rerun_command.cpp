#include "cli/rerun_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>

#include "cli/version.h"
#include "host/file_io.h"
#include "model/support/printable.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"
#include "model/system/machine_config.h"
#include "workloads/checksum.h"

namespace bwmm::cli {
namespace {

using nlohmann::json;

// Options that write files, or say what goes into one; a repeated run writes none.
constexpr std::array<std::string_view, 8> kOutputOptions = {"--json",   "--listing",     "--wave",
                                                            "--probe",  "--wave-window", "--output",
                                                            "--scales", "--dump-tile"};
// Options whose value is a name, also when a file has it.
constexpr std::array<std::string_view, 4> kNameOptions = {"--model", "--variant", "--fidelity",
                                                          "--check"};
constexpr std::array<std::string_view, 3> kCommands = {"run", "matmul", "quantize"};
// What must come out the same.
constexpr std::array<std::string_view, 8> kCompared = {
    "checksum", "cycles", "instructions", "bytes", "engines", "cores", "fidelity", "machine"};
constexpr std::size_t kShownDifferences = 20;

template <typename List>
bool Contains(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// One option as it stands on the command line: `--name value`, `--name=value`, or one word.
struct Word {
  std::string_view option;
  std::string value;
  std::vector<std::string> text;
};

std::vector<Word> WordsOf(const std::vector<std::string>& arguments) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view text = arguments[i];
    Word word{.option = text.substr(0, text.find('=')), .value = {}, .text = {arguments[i]}};
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

// Also where a name is too long for one of a file, or a folder lets nobody in.
bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

json ReadReport(const std::string& path) {
  const std::vector<std::byte> bytes = host::ReadFile(path);
  const json report = json::parse(host::TextOf(bytes), nullptr, false);
  const auto has = [&](const char* key, bool (json::*is)() const noexcept) {
    return report.is_object() && report.contains(key) && (report[key].*is)();
  };
  if (!has("version", &json::is_string) || !has("arguments", &json::is_array) ||
      !has("inputs", &json::is_array))
    throw SimError("{}: no report, allowed is what --json wrote", path);
  return report;
}

std::vector<std::string> ArgumentsOf(const std::string& path, const json& report) {
  if (report["version"] != Version()) {
    throw SimError("{}: version {}, allowed {}: another version may give other cycles", path,
                   report["version"].get<std::string>(), Version());
  }
  std::vector<std::string> arguments;
  for (const json& argument : report["arguments"]) {
    if (!argument.is_string())
      throw SimError("{}: arguments: {}, allowed text", path, argument.dump());
    arguments.push_back(argument);
  }
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (!Contains(kCommands, command))
    throw SimError("{}: command {}, allowed run, matmul, quantize", path, command);
  return arguments;
}

void CheckInputs(const std::string& path, const json& report) {
  for (const json& input : report["inputs"]) {
    if (!input.is_object() || !input.value("path", json()).is_string() ||
        !input.value("checksum", json()).is_string())
      throw SimError("{}: inputs: {}, allowed path and checksum", path, input.dump());
    const std::string file = input["path"], checksum = input["checksum"];
    if (!IsFile(file))
      throw SimError("{}: not there, but {} was made from it", file, path);
    if (const std::string now = FileChecksum(file); now != checksum)
      throw SimError("{}: changed, checksum {}, {} was made from {}", file, now, path, checksum);
  }
}

json ComparedPart(const json& report) {
  json part;
  for (const std::string_view key : kCompared)
    part[std::string(key)] = report.value(std::string(key), json());
  return part.flatten();
}

std::string Text(const json& values, const std::string& key) {
  return values.contains(key) ? values[key].dump() : "nothing";
}

}  // namespace

std::string FileChecksum(const std::string& path) {
  return workloads::Checksum(host::ReadFile(path));
}

std::string FileOf(std::string text) {
  while (!IsFile(text)) {
    const std::size_t end = text.find_last_of(":#");
    if (end == std::string::npos)
      return "";
    text.resize(end);
  }
  return text;
}

std::vector<std::string> InputsAmong(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const Word& word : WordsOf(arguments)) {
    if (Contains(kOutputOptions, word.option) || Contains(kNameOptions, word.option) ||
        word.option == "--set" || Contains(PresetNames(), word.value))
      continue;
    const std::string path = FileOf(word.value);
    if (!path.empty() && !Contains(paths, path))
      paths.push_back(path);
  }
  return paths;
}

bool Rerun(const std::string& path, const RunArguments& run) {
  const json report = ReadReport(path);
  std::vector<std::string> arguments = ArgumentsOf(path, report);
  CheckInputs(path, report);
  std::vector<std::string> repeated;
  for (const Word& word : WordsOf(arguments)) {
    if (!Contains(kOutputOptions, word.option))
      repeated.insert(repeated.end(), word.text.begin(), word.text.end());
  }
  const json before = ComparedPart(report);
  const json now = ComparedPart(json::parse(run(repeated)));

  std::set<std::string> keys;
  for (const json& part : {before, now}) {
    for (const auto& [key, value] : part.items())
      keys.insert(key);
  }
  std::vector<std::string> different;
  for (const std::string& key : keys) {
    if (Text(before, key) != Text(now, key)) {
      different.push_back(
          fmt::format("{}: {}, now {}", key.substr(1), Text(before, key), Text(now, key)));
    }
  }
  std::string line;
  for (const std::string& word : repeated)
    line += " " + word;
  std::string text = fmt::format("{:<16} {}:{}\n", "rerun", Printable(path), Printable(line));
  for (const char* key : {"/cycles", "/checksum"})
    text += fmt::format("{:<16} {}\n", key + 1, Text(now, key));
  for (std::size_t i = 0; i < std::min(different.size(), kShownDifferences); ++i)
    text += fmt::format("{:<16} {}\n", "different", Printable(different[i]));
  text += fmt::format("{:<16} {} of {} values equal\n", different.empty() ? "equal" : "DIFFERENT",
                      keys.size() - different.size(), keys.size());
  WriteStandardOutput(text);
  return different.empty();
}

}  // namespace bwmm::cli
