#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string_view>

#include "cli/list_command.h"
#include "cli/replay_command.h"
#include "cli/rerun_command.h"
#include "cli/run_command.h"
#include "cli/version.h"
#include "cli/workload_command.h"
#include "host/join.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"

namespace bwmm::cli {
namespace {

// An empty value would be taken for an option that is not there: --routing "$UNSET".
void CheckValues(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (std::ranges::find(option->results(), "") != option->results().end())
      throw SimError("{}: empty, allowed a value, or no such option", option->get_name());
    // Nothing stood where the value belongs: --json $UNSET --sequential.
    for (const std::string& value : option->results()) {
      if (value.starts_with("--"))
        throw SimError("{}: {}, allowed a value, which does not begin with --", option->get_name(),
                       value);
    }
  }
}

// CLI11 takes any number for true, and a flag with nothing behind = for one without a value.
void CheckFlags(const CLI::App& cli, const std::vector<std::string>& arguments) {
  const bool named = !arguments[0].starts_with("-");
  const CLI::App& command = named ? *cli.get_subcommand(arguments[0]) : cli;
  const std::string prefix = named ? arguments[0] + ": " : "";
  for (const std::string& text : arguments) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      continue;
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_max() > 0)
      continue;
    const bool ends = name == "--help" || name == "--version";
    if (ends || (value != "true" && value != "false"))
      throw SimError("{}{}: {}, allowed {}", prefix, name, value.empty() ? "empty" : value,
                     ends ? "no value" : "true or false, or no value for true");
  }
}

// The commands there are without any workload.
constexpr std::array<std::string_view, 4> kCommands = {"run", "replay", "list", "rerun"};

// Of `bwmm run`: what --workload names on this command line, else the default.
workloads::Entry EntryOfRun(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "run")
    return workloads::FindWorkload(workloads::kDefaultWorkload);
  try {
    return *WorkloadOf(arguments);
  } catch (const SimError& error) {
    throw SimError("run: {}", error.what());
  }
}

// CLI11 names neither the word nor the commands.
void CheckCommand(const CLI::App& cli, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0].starts_with("-"))
    return;
  std::vector<std::string> names;
  for (const CLI::App* command : cli.get_subcommands({}))
    names.push_back(command->get_name());
  if (arguments.empty())
    throw SimError("no command, allowed {}", host::Join(names));
  if (std::ranges::find(names, arguments[0]) == names.end())
    throw SimError("{}: no such command, allowed {}", arguments[0], host::Join(names));
}

// CLI11 has the words in reverse.
std::string MessageOf(const CLI::ParseError& error, const CLI::App& cli) {
  const std::vector<CLI::App*> commands = cli.get_subcommands();
  const std::string name = commands.empty() ? "" : commands.front()->get_name();
  const std::string prefix = name.empty() ? "" : name + ": ";
  const std::vector<std::string> unknown = cli.remaining(true);
  if (unknown.empty())
    return prefix + error.what();
  return fmt::format("{}{}: no such {}, allowed is what bwmm {}{}--help lists", prefix,
                     unknown.front(), unknown.front().starts_with("-") ? "option" : "argument",
                     name, name.empty() ? "" : " ");
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, std::string* captured_json) {
  CLI::App cli{"bwmm: a two-core MX accelerator running Mixture-of-Experts prefill kernels",
               "bwmm"};
  cli.set_version_flag("--version", std::string(Version()));
  cli.require_subcommand(1);
  Action action;

  WorkloadCommand run(cli, "run", "a workload: one MoE layer, or what --workload names",
                      EntryOfRun(arguments), arguments, captured_json, action);
  std::vector<std::unique_ptr<WorkloadCommand>> own;
  for (const workloads::Entry& entry : workloads::Workloads()) {
    if (entry.subcommand && std::ranges::find(kCommands, entry.name) != kCommands.end())
      throw SimError("workload {}: a command has the name, allowed another, or no subcommand",
                     entry.name);
    if (entry.subcommand)
      own.push_back(std::make_unique<WorkloadCommand>(cli, entry.name, entry.help, entry, arguments,
                                                      captured_json, action));
  }

  ReplayCommand replay;
  CLI::App* rp = cli.add_subcommand("replay", "a program as text, run in every way and compared");
  rp->add_option("file", replay.file, "a replay file")->required();
  rp->add_option("--fidelity", replay.fidelity, "all, executor, fast, timing or rtl")
      ->capture_default_str();
  rp->callback([&] { action = [&] { return RunReplayCommand(replay); }; });

  std::string what;
  CLI::App* list = cli.add_subcommand("list", "workloads, models, variants, machines or counters");
  list->add_option("what", what, "workloads, models, variants, machines, counters")->required();
  list->callback([&] {
    action = [&] {
      WriteStandardOutput(ListText(what));
      return true;
    };
  });

  std::string report;
  CLI::App* rerun = cli.add_subcommand("rerun", "repeat the run of a JSON report and compare");
  rerun->add_option("report", report, "what --json wrote")->required();
  rerun->callback([&] {
    action = [&] {
      return Rerun(report, [&report](const std::vector<std::string>& words) {
        std::string json;
        try {
          RunCommandLine(words, &json);
        } catch (const SimError& error) {
          throw SimError("{}: {}", report, error.what());
        }
        return json;
      });
    };
  });

  CheckCommand(cli, arguments);
  CheckFlags(cli, arguments);
  try {
    cli.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    const bool no_run = error.get_exit_code() == 0;  // --help, --version
    if (captured_json != nullptr)
      throw SimError("arguments: {}", no_run ? "no run" : MessageOf(error, cli));
    if (no_run) {
      std::ostringstream text;
      cli.exit(error, text, text);
      WriteStandardOutput(text.str());
      return 0;
    }
    throw SimError("{}", MessageOf(error, cli));
  }
  bool pass = false;
  try {
    CheckValues(*cli.get_subcommands().front());
    pass = action();
  } catch (const SimError& error) {
    throw SimError("{}: {}", cli.get_subcommands().front()->get_name(), error.what());
  }
  return pass ? 0 : 1;
}

}  // namespace bwmm::cli
