#include "cli/emit_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/report_json.h"
#include "cli/rerun_command.h"
#include "model/support/check.h"
#include "model/support/write_file.h"

namespace bwmm::cli {
namespace {

std::vector<workloads::Provenance::MachineChange> ChangesFrom(const MachineConfig& machine,
                                                              const std::string& preset) {
  const std::vector<Setting> own = SettingsOf(machine);
  const std::vector<Setting> base = SettingsOf(LoadMachine(preset));
  Check(own.size() == base.size(), "all machines have the same keys");
  std::vector<workloads::Provenance::MachineChange> changes;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].value != base[i].value)
      changes.push_back({own[i].key, own[i].value, base[i].value});
  }
  return changes;
}

}  // namespace

void AddProvenance(const CommonOptions& options, const std::vector<NamedFile>& inputs,
                   const std::vector<KeyValue>& settings, workloads::RunReport& report) {
  workloads::Provenance& provenance = report.provenance;
  provenance.arguments = options.arguments;
  provenance.seed = options.seed;
  std::vector<std::string> paths;
  const std::vector<std::string> presets = PresetNames();
  if (std::ranges::find(presets, options.machine) == presets.end())
    paths.push_back(options.machine);
  for (const NamedFile& input : inputs)
    paths.push_back(input.path);
  std::set<std::string> seen = {""};  // an option that is not given
  for (const std::string& path : paths) {
    if (seen.insert(path).second)
      provenance.inputs.push_back({path, FileChecksum(path)});
  }

  // A preset is compared with itself, a file with the preset it differs least from.
  for (const std::string& preset : presets) {
    const auto changes = ChangesFrom(report.machine, preset);
    const bool nearer = provenance.machine_preset.empty() || preset == options.machine ||
                        (provenance.machine_preset != options.machine &&
                         changes.size() < provenance.machine_changes.size());
    if (nearer) {
      provenance.machine_preset = preset;
      provenance.machine_changes = changes;
    }
  }
  std::map<std::string, std::string> last;  // the last one counts
  for (const auto& [key, value] : settings)
    last[key] = value;
  provenance.settings.assign(last.begin(), last.end());
}

bool EmitReport(const CommonOptions& options, const workloads::RunReport& report) {
  const auto& error = report.verdict.error;
  const bool pass = !error || (error->pass && error->compared > 0);
  if (options.captured_json != nullptr) {
    *options.captured_json = ToJson(report);
    return pass;
  }
  if (!options.json.empty())
    WriteFileAtomically(options.json, {BytesOf(ToJson(report))});
  WriteStandardOutput(ToText(report));
  return pass;
}

}  // namespace bwmm::cli
