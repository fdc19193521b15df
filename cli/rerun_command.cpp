#include "cli/rerun_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "cli/run_command.h"
#include "cli/version.h"
#include "cli/words.h"
#include "host/file_io.h"
#include "host/join.h"
#include "model/support/printable.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"
#include "model/system/machine_config.h"
#include "workloads/checksum.h"

namespace bwmm::cli {
namespace {

using nlohmann::json;

// Options of every run that write files, or say what goes into one; a repeated run writes none.
constexpr std::array<std::string_view, 6> kOutputOptions = {
    "--json", "--listing", "--wave", "--probe", "--wave-window", "--dump-tile"};
// What must come out the same.
constexpr std::array<std::string_view, 8> kCompared = {
    "checksum", "cycles", "instructions", "bytes", "engines", "cores", "fidelity", "machine"};
constexpr std::size_t kShownDifferences = 20;

template <typename List>
bool Contains(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// Whether the option writes a file, of a run of this workload.
bool IsOutput(const Word& word, const std::vector<workloads::Option>& workload) {
  const auto writes = [&](const workloads::Option& option) {
    return option.name == word.option && option.kind == workloads::Option::Kind::kOutputTensor;
  };
  return Contains(kOutputOptions, word.option) || std::ranges::any_of(workload, writes);
}

// Commands that write a report.
std::vector<std::string> Commands() {
  std::vector<std::string> commands = {"run"};
  for (const workloads::Entry& entry : workloads::Workloads()) {
    if (entry.subcommand)
      commands.push_back(entry.name);
  }
  return commands;
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

// Text, or the bytes of one that is no UTF-8; none for anything else.
std::optional<std::string> ExactText(const json& value) {
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_object() || !value.value("bytes", json()).is_string())
    return std::nullopt;
  const std::string digits = value["bytes"];
  std::string text;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    const char* const end = digits.data() + std::min(i + 2, digits.size());
    if (std::from_chars(digits.data() + i, end, byte, 16).ptr != digits.data() + i + 2)
      return std::nullopt;
    text += static_cast<char>(byte);
  }
  return text;
}

std::vector<std::string> ArgumentsOf(const std::string& path, const json& report) {
  if (report["version"] != Version()) {
    throw SimError("{}: version {}, allowed {}: another version may give other cycles", path,
                   report["version"].get<std::string>(), Version());
  }
  std::vector<std::string> arguments;
  for (const json& argument : report["arguments"]) {
    const std::optional<std::string> text = ExactText(argument);
    if (!text)
      throw SimError("{}: arguments: {}, allowed text", path, argument.dump());
    arguments.push_back(*text);
  }
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (!Contains(Commands(), command))
    throw SimError("{}: command {}, allowed {}", path, command, host::Join(Commands()));
  return arguments;
}

void CheckInputs(const std::string& path, const json& report) {
  for (const json& input : report["inputs"]) {
    const bool whole = input.is_object() && input.value("checksum", json()).is_string();
    const std::optional<std::string> named =
        whole ? ExactText(input.value("path", json())) : std::nullopt;
    if (!named)
      throw SimError("{}: inputs: {}, allowed path and checksum", path, input.dump());
    const std::string file = *named, checksum = input["checksum"];
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
  if (!values.contains(key))
    return "nothing";
  return values[key].is_null() ? "-" : values[key].dump();
}

}  // namespace

std::string FileChecksum(const std::string& path) {
  return workloads::Checksum(host::ReadFile(path));
}

namespace {

// Another bwmm may have made the report.
std::unique_ptr<workloads::Workload> WorkloadOfReport(const std::string& path,
                                                      const std::vector<std::string>& arguments) {
  try {
    return workloads::MakeWorkload(*WorkloadOf(arguments));
  } catch (const SimError& error) {
    throw SimError("{}: {}, which this bwmm knows", path, error.what());
  }
}

}  // namespace

bool Rerun(const std::string& path, const RunArguments& run) {
  const json report = ReadReport(path);
  std::vector<std::string> arguments = ArgumentsOf(path, report);
  CheckInputs(path, report);
  const auto workload = WorkloadOfReport(path, arguments);
  const std::vector<workloads::Option> options = workload->options();
  std::vector<std::string> repeated;
  for (const Word& word : WordsOf(arguments)) {
    if (!IsOutput(word, options))
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
