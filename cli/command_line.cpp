#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>

#include "cli/list_command.h"
#include "cli/replay_command.h"
#include "cli/rerun_command.h"
#include "cli/run_command.h"
#include "cli/version.h"
#include "model/support/setting.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"

namespace bwmm::cli {
namespace {

// What the chosen subcommand does; false when a check failed.
using Action = std::function<bool()>;

// CLI11 reads -1 as 2^64 - 1, nothing as 0, and takes octal, signs and spaces as they come.
template <typename T>
CLI::Validator Integer(T least) {
  const auto check = [least](const std::string& text) {
    T value = 0;
    return ParseWhole(text, value) == Parsed::kNumber && value >= least
               ? std::string()
               : fmt::format("{}, allowed an integer from {} to {}", text, least,
                             std::numeric_limits<T>::max());
  };
  return CLI::Validator(check, "");
}

// An empty value would be taken for an option that is not there: --routing "$UNSET".
void CheckValues(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (std::ranges::find(option->results(), "") != option->results().end())
      throw SimError("{}: empty, allowed a value, or no such option", option->get_name());
  }
}

void AddCommon(CLI::App& command, CommonOptions& options) {
  command.add_option("--fidelity", options.fidelity, "rtl, fast or timing")->capture_default_str();
  command.add_option("--machine", options.machine, "a preset or a TOML file")
      ->capture_default_str();
  command.add_option("--set", options.settings, "key=value, may be repeated")
      ->allow_extra_args(false);
  command.add_option("--json", options.json, "write the report to this file");
  command.add_option("--listing", options.listing, "write one line per instruction to this file");
  command.add_option("--wave", options.wave, "write an FST dump to this file (rtl)");
  command.add_option("--probe", options.probe, "PE row,column shown in the dump")
      ->capture_default_str();
  command.add_option("--wave-window", options.wave_window, "from:to in TensorEngine cycles");
  command.add_flag("--unchecked", options.unchecked,
                   "do not look for races and for reads of unwritten bytes");
  command.add_option("--seed", options.seed, "seed of everything random")
      ->capture_default_str()
      ->check(Integer<std::uint64_t>(0));
}

void AddOption(CLI::App& command, const workloads::Option& option) {
  if (bool* const* flag = std::get_if<bool*>(&option.field)) {
    command.add_flag(option.name, **flag, option.help);
    return;
  }
  std::visit(
      [&](auto* field) {
        CLI::Option* added =
            command.add_option(option.name, *field, option.help)->capture_default_str();
        if constexpr (std::is_same_v<decltype(field), int*>)
          added->check(Integer(option.least));
      },
      option.field);
}

// A subcommand that runs one workload.
class WorkloadCommand {
 public:
  WorkloadCommand(CLI::App& cli, const std::string& name, const std::string& help,
                  workloads::Entry entry, const std::vector<std::string>& arguments,
                  std::string* captured_json, Action& action)
      : entry_(std::move(entry)), workload_(entry_.make()) {
    command_.name = name;
    command_.common.arguments = arguments;
    command_.common.captured_json = captured_json;
    CLI::App* app = cli.add_subcommand(name, help);
    AddCommon(*app, command_.common);
    if (name == "run") {
      app->add_option("--workload", entry_.name, "what runs (bwmm list workloads)")
          ->capture_default_str();
      app->add_option("--dump-tile", command_.dump_tile,
                      "core,instruction,directory: write a matmul tile that bwmm matmul replays");
      app->add_flag("--sequential", command_.sequential,
                    "run on the sequential executor, without time");
    }
    for (const workloads::Option& option : workload_->options())
      AddOption(*app, option);
    app->callback([this, app, &action] {
      for (const CLI::Option* option : app->parse_order())
        command_.given.insert(option->get_name());
      action = [this] { return RunWorkload(command_, entry_, *workload_); };
    });
  }

 private:
  RunCommand command_;
  workloads::Entry entry_;
  std::unique_ptr<workloads::Workload> workload_;
};

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

  try {
    cli.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    const bool no_run = error.get_exit_code() == 0;  // --help, --version
    if (captured_json != nullptr)
      throw SimError("arguments: {}", no_run ? "no run" : error.what());
    if (no_run)
      return cli.exit(error);
    throw SimError("{}", error.what());
  }
  bool pass = false;
  try {
    CheckValues(*cli.get_subcommands().front());
    pass = action();
  } catch (const SimError& error) {
    throw SimError("{}: {}", cli.get_subcommands().front()->get_name(), error.what());
  }
  if (std::fflush(stdout) != 0)
    throw SimError("standard output: cannot be written: {}", std::strerror(errno));
  return pass ? 0 : 1;
}

}  // namespace bwmm::cli
