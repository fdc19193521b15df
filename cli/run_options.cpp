#include "cli/run_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "cli/wave.h"
#include "host/tensor_file.h"
#include "model/support/interrupt.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"
#include "model/system/listing.h"
#include "model/system/progress.h"

namespace bwmm::cli {
namespace {

// Nothing is drawn before a run has lasted this long.
constexpr double kQuietSeconds = 2.0;

class ProgressBar {
 public:
  explicit ProgressBar(std::uint64_t instructions) : instructions_(instructions) {}
  ~ProgressBar() {
    if (drawn_)
      std::fputs("\r\033[K", stderr);
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Draw(const Progress& progress) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (seconds < kQuietSeconds || instructions_ == 0)
      return;
    drawn_ = true;
    const double done = std::min(
        1.0, static_cast<double>(progress.instructions_done) / static_cast<double>(instructions_));
    fmt::print(stderr, "\r\033[K{:3.0f}%  cycle {}  {:.1f} kHz  {:.0f} s left", 100 * done,
               progress.cycle, progress.khz, done > 0 ? seconds * (1 - done) / done : 0.0);
    std::fflush(stderr);
  }

 private:
  std::uint64_t instructions_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

KeyValue SplitSetting(const std::string& text) {
  KeyValue setting = SplitKeyValue(text);
  if (setting.key.empty())
    throw SimError("--set {}: allowed key=value", text);
  return setting;
}

std::vector<NamedFile> CommonOutputs(const CommonOptions& options) {
  return {{"--json", options.json}, {"--listing", options.listing}, {"--wave", options.wave}};
}

void CheckOptions(const CommonOptions& options, const std::vector<NamedFile>& tensors,
                  std::vector<NamedFile> inputs, const std::vector<NamedFile>& placed) {
  if (options.wave.empty() && !options.probe.empty())
    throw SimError("--probe {}: needs --wave", options.probe);
  if (options.wave.empty() && !options.wave_window.empty())
    throw SimError("--wave-window {}: needs --wave", options.wave_window);
  const bool timing = FidelityOf(options) == Fidelity::kTiming;
  for (const auto& [option, path] : tensors) {
    if (path.empty())
      continue;
    if (timing)
      throw SimError("{} {}: timing has no tensor data, allowed with rtl, fast", option, path);
    host::CheckTensorFileName(path);
  }
  std::vector<NamedFile> outputs = tensors;
  for (NamedFile& common : CommonOutputs(options))
    outputs.push_back(std::move(common));
  const std::vector<std::string> presets = PresetNames();
  if (std::ranges::find(presets, options.machine) == presets.end())
    inputs.push_back({"--machine", options.machine});
  std::vector<NamedFile> all = outputs;
  all.insert(all.end(), placed.begin(), placed.end());
  CheckDistinct(inputs, all);
  for (const auto& [option, path] : outputs) {
    if (!path.empty())
      option == "--wave" ? CheckReplaceable(path) : CheckWritable(path);
  }
}

Fidelity FidelityOf(const CommonOptions& options) {
  const auto fidelity = ParseFidelity(options.fidelity);
  if (!fidelity)
    throw SimError("--fidelity {}: allowed rtl, fast, timing", options.fidelity);
  if (!options.wave.empty() && *fidelity != Fidelity::kRtl)
    throw SimError("--wave needs --fidelity rtl, this run is {}", options.fidelity);
  return *fidelity;
}

MachineConfig MachineOf(const CommonOptions& options) {
  MachineConfig machine = LoadMachine(options.machine);
  for (const std::string& setting : options.settings) {
    const KeyValue entry = SplitSetting(setting);
    if (entry.key.starts_with("machine."))
      ApplySetting(machine, entry.key, entry.value);
  }
  ValidateMachine(machine);
  return machine;
}

RunResult RunOnMachine(const CommonOptions& options, const MachineConfig& machine, ops::Hbm& hbm,
                       const ops::Program& program, std::uint64_t instructions, RunOptions run) {
  run.checked = !options.unchecked;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  ProgressBar bar(instructions);
  ProgressMeter progress([&](const Progress& so_far) {
    ThrowIfInterrupted();
    if (terminal)
      bar.Draw(so_far);
  });
  run.observers.push_back(&progress);
  Listing listing;
  if (!options.listing.empty())
    run.observers.push_back(&listing);
  std::optional<WaveDump> wave;
  if (!options.wave.empty())
    wave.emplace(options, machine, run);
  const RunResult result = RunMachine(machine, FidelityOf(options), hbm, program, run);
  if (!options.listing.empty())
    listing.WriteTo(options.listing);
  if (wave)
    wave->Check();
  return result;
}

}  // namespace bwmm::cli
