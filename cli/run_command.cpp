#include "cli/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/emit_report.h"
#include "cli/tile_dump.h"
#include "cli/words.h"
#include "host/join.h"
#include "host/tensor_file.h"
#include "kernels/lang/allocator.h"
#include "model/support/check.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"
#include "workloads/checksum.h"
#include "workloads/dry_run.h"

namespace bwmm::cli {
namespace {

using workloads::Option;
using workloads::Workload;

void CheckTogether(const RunCommand& command, Fidelity fidelity) {
  const CommonOptions& common = command.common;
  if (command.sequential) {
    if (fidelity != Fidelity::kFast)
      throw SimError("--fidelity {}: --sequential allows fast only", common.fidelity);
    if (!common.listing.empty())
      throw SimError("--listing {}: needs the machine, --sequential has none", common.listing);
    if (!command.dump_tile.empty())
      throw SimError("--dump-tile {}: needs the machine, --sequential has none", command.dump_tile);
  }
  if (fidelity == Fidelity::kTiming && !command.dump_tile.empty())
    throw SimError("--dump-tile {}: timing has no tensor data, allowed with rtl, fast",
                   command.dump_tile);
}

std::string ValueOf(const Option& option) {
  return *std::get<std::string*>(option.field);
}

// The files a workload's options name, those that it reads or those that it writes.
std::vector<NamedFile> FilesOf(const std::vector<Option>& options, bool written) {
  std::vector<NamedFile> files;
  for (const Option& option : options) {
    const bool output = option.kind == Option::Kind::kOutputTensor;
    if (option.kind == Option::Kind::kValue || output != written)
      continue;
    files.push_back(option.kind == Option::Kind::kInputTensor
                        ? TensorFile(option.name, ValueOf(option))
                        : NamedFile{option.name, ValueOf(option)});
  }
  return files;
}

// A repeated run writes nothing, and one without data has nothing for the path an output has by
// itself; both leave it out.
void DropOutputs(const RunCommand& command, Fidelity fidelity, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const bool own = fidelity == Fidelity::kTiming && !command.given.contains(option.name);
    if (option.kind == Option::Kind::kOutputTensor &&
        (own || command.common.captured_json != nullptr))
      std::get<std::string*>(option.field)->clear();
  }
}

// The settings that are not the machine's; each changes something, or is refused.
std::vector<KeyValue> SettingsOf(const RunCommand& command, const Workload& workload) {
  const std::vector<std::string> prefixes = workload.setting_prefixes();
  std::vector<KeyValue> settings;
  for (const std::string& text : command.common.settings) {
    KeyValue setting = SplitSetting(text);
    if (setting.key.starts_with("machine.")) {
      if (command.sequential && IsTimeOnly(setting.key))
        throw SimError(
            "--set {}: changes nothing with --sequential, which has no time; allowed without it",
            text);
      continue;
    }
    const auto begins = [&](const auto& prefix) { return setting.key.starts_with(prefix); };
    if (std::ranges::none_of(prefixes, begins)) {
      if (prefixes.empty())
        throw SimError("--set {}: keys begin with machine. here", text);
      throw SimError("--set {}: keys begin with {} or machine.", text, host::Join(prefixes));
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

// Refuses what the program would be refused for, before time goes into running it.
std::uint64_t CountInstructions(const Workload& workload, const workloads::Setup& setup) {
  if (const std::uint64_t known = workload.instructions())
    return known;
  try {
    return workloads::DryRun([&](isa::Sink& sink) { workload.Run(sink); }, setup.limits());
  } catch (const lang::DoesNotFit& error) {
    const std::string way = workload.WhatWouldFit(setup);
    throw SimError("{}{}{}", error.what(), way.empty() ? "" : "; ", way);
  }
}

std::string NamesOf(const std::vector<host::HostTensor>& tensors) {
  std::vector<std::string> names;
  for (const host::HostTensor& tensor : tensors)
    names.push_back(tensor.name);
  return host::Join(names);
}

const host::HostTensor& OutputOf(const Option& option,
                                 const std::vector<host::HostTensor>& outputs) {
  const auto named = std::ranges::find(outputs, option.tensor, &host::HostTensor::name);
  if (named == outputs.end())
    throw SimError("{}: the workload has no output {}, allowed {}", option.name, option.tensor,
                   NamesOf(outputs));
  return *named;
}

// Refuses before the run what TakeResult could not write behind it.
void CheckOutputs(const std::vector<Option>& options, Workload& workload) {
  for (const Option& option : options) {
    if (option.kind == Option::Kind::kOutputTensor && !ValueOf(option).empty())
      OutputOf(option, workload.Outputs());
  }
}

// Checksum, files and verdict.
void TakeResult(const std::vector<Option>& options, Workload& workload,
                workloads::RunReport& report) {
  const std::vector<host::HostTensor> outputs = workload.Outputs();
  std::vector<std::byte> bytes;
  for (const host::HostTensor& output : outputs)
    bytes.insert(bytes.end(), output.data.begin(), output.data.end());
  report.checksum = workloads::Checksum(bytes);
  for (const Option& option : options) {
    if (option.kind == Option::Kind::kOutputTensor && !ValueOf(option).empty())
      host::SaveTensor(ValueOf(option), OutputOf(option, outputs));
  }
  report.verdict = workload.Judge();
  if (auto& error = report.verdict.error; error && error->pass && error->compared < 1) {
    error->pass = false;
    error->failed_rule = "nothing compared";
  }
  Check(report.verdict.error || !report.verdict.skipped.empty(),
        "a verdict has an error report, or says why there is none");
}

}  // namespace

bool RunWorkload(const RunCommand& command, const workloads::Entry& entry, Workload& workload) {
  const CommonOptions& common = command.common;
  const Fidelity fidelity = FidelityOf(common);
  CheckTogether(command, fidelity);
  const std::vector<Option> options = workload.options();
  DropOutputs(command, fidelity, options);
  const std::vector<NamedFile> outputs = FilesOf(options, true);
  std::optional<TileDump> dump;
  if (!command.dump_tile.empty())
    dump.emplace(command.dump_tile);
  const std::vector<NamedFile> tile = dump ? dump->Files() : std::vector<NamedFile>();
  std::vector<NamedFile> inputs = FilesOf(options, false);
  CheckOptions(common, outputs, inputs, tile);

  workloads::Setup setup{.machine = MachineOf(common),
                         .fidelity = fidelity,
                         .sequential = command.sequential,
                         .with_data = fidelity != Fidelity::kTiming,
                         .seed = workloads::Seed(common.seed),
                         .settings = SettingsOf(command, workload),
                         .given = command.given};
  setup.reads = [&](const NamedFile& spec) {
    std::vector<NamedFile> all = CommonOutputs(common);
    all.insert(all.end(), outputs.begin(), outputs.end());
    all.insert(all.end(), tile.begin(), tile.end());
    const NamedFile file = TensorFile(spec.name, spec.path);
    CheckDistinct({file}, all);
    if (setup.with_data)
      inputs.push_back(file);
  };
  NameErrors(inputs, [&] { workload.Prepare(setup); });
  CheckOutputs(options, workload);
  if (setup.given.contains("--seed") && !setup.seed.drawn())
    throw SimError("--seed {}: changes nothing here, where nothing is drawn from it", common.seed);

  workloads::RunReport report;
  report.command = command.name;
  report.workload = entry.name;
  report.facts = workload.facts();
  report.checked = !common.unchecked;
  report.timed = !command.sequential;
  report.fidelity = fidelity;
  report.machine = setup.machine;
  NameErrors(inputs, [&] { AddProvenance(common, inputs, setup.settings, report); });
  const std::uint64_t instructions = CountInstructions(workload, setup);
  const ops::Program program = [&](isa::Sink& sink) { workload.Run(sink); };

  const auto start = std::chrono::steady_clock::now();
  if (command.sequential) {
    report.result.instructions =
        ops::RunSequentially(setup.limits(), workload.hbm(), program, report.checked).instructions;
  } else {
    RunOptions run;
    if (dump)
      run.observers.push_back(&*dump);
    report.result =
        RunOnMachine(common, setup.machine, workload.hbm(), program, instructions, std::move(run));
  }
  report.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  ThrowIfInterrupted();
  if (dump)
    dump->Write(common);
  if (setup.with_data)
    TakeResult(options, workload, report);
  else
    report.verdict.skipped = "timing moves no tensor data";
  return EmitReport(common, report);
}

std::optional<workloads::Entry> WorkloadOf(const std::vector<std::string>& arguments) {
  if (arguments.empty())
    return std::nullopt;
  if (arguments[0] != "run") {
    for (const workloads::Entry& entry : workloads::Workloads()) {
      if (entry.subcommand && entry.name == arguments[0])
        return entry;
    }
    return std::nullopt;
  }
  std::string name = workloads::kDefaultWorkload;
  for (const Word& word : WordsOf(arguments)) {
    if (word.option == "--workload")
      name = word.value;
  }
  return workloads::FindWorkload(name);
}

}  // namespace bwmm::cli
