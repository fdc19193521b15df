#include "cli/workload_command.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "model/support/setting.h"
#include "model/support/sim_error.h"

namespace bwmm::cli {
namespace {

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

// CLI11 reads what lies below the smallest double as 0.
CLI::Validator Real() {
  const auto check = [](const std::string& text) {
    double value = 0;
    switch (ParseWhole(text, value)) {
      case Parsed::kNumber:
        return std::string();
      case Parsed::kOutOfRange:
        return fmt::format("{}, allowed 0 or a number of magnitude {} to {}", text,
                           std::numeric_limits<double>::denorm_min(),
                           std::numeric_limits<double>::max());
      case Parsed::kNoNumber:
        break;
    }
    return fmt::format("{}, allowed a number", text);
  };
  return CLI::Validator(check, "");
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
      ->default_str(kDefaultProbe);
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
        if constexpr (std::is_same_v<decltype(field), double*>)
          added->check(Real());
      },
      option.field);
}

void AddOptionsOf(CLI::App& command, const std::string& name, workloads::Workload& workload) {
  for (const workloads::Option& option :
       workloads::InWorkload(name, [&] { return workload.options(); })) {
    workloads::CheckOption(name, option);
    try {
      AddOption(command, option);
    } catch (const CLI::ConstructionError&) {
      throw SimError("workload {}: option {}, allowed a name that no other option has", name,
                     option.name);
    }
  }
}

}  // namespace

WorkloadCommand::WorkloadCommand(CLI::App& cli, const std::string& name, const std::string& help,
                                 workloads::Entry entry, const std::vector<std::string>& arguments,
                                 std::string* captured_json, Action& action)
    : entry_(std::move(entry)), workload_(workloads::MakeWorkload(entry_)) {
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
  AddOptionsOf(*app, entry_.name, *workload_);
  app->callback([this, app, &action] {
    for (const CLI::Option* option : app->parse_order())
      command_.given.insert(option->get_name());
    action = [this] {
      return workloads::InWorkload(entry_.name,
                                   [this] { return RunWorkload(command_, entry_, *workload_); });
    };
  });
}

}  // namespace bwmm::cli
