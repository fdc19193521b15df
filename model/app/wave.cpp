#include "model/app/wave.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "model/engine/engine_trace.h"
#include "model/engine/make_engines.h"
#include "model/support/sim_error.h"

namespace bwmm::app {
namespace {

// "12,34" or "12:34" as two numbers.
std::optional<std::pair<std::uint64_t, std::uint64_t>> Pair(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::pair<std::uint64_t, std::uint64_t> result;
  const auto parse = [](std::string_view part, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size();
  };
  if (!parse(text.substr(0, at), result.first) || !parse(text.substr(at + 1), result.second))
    return std::nullopt;
  return result;
}

}  // namespace

void TraceCore0(const CommonOptions& options, const MachineConfig& machine, RunOptions& run) {
  if (options.wave.empty())
    return;
  engine::TraceOptions trace{.path = options.wave,
                             .cycle_ps = 1e6 / static_cast<double>(machine.clock.tensor_mhz)};
  const auto probe = Pair(options.probe, ',');
  if (!probe || probe->first >= static_cast<std::uint64_t>(machine.tensor.rows) ||
      probe->second >= static_cast<std::uint64_t>(machine.tensor.cols)) {
    throw SimError("--probe {}: allowed row,column up to {},{}", options.probe,
                   machine.tensor.rows - 1, machine.tensor.cols - 1);
  }
  trace.row = static_cast<int>(probe->first);
  trace.col = static_cast<int>(probe->second);
  if (!options.wave_window.empty()) {
    const auto window = Pair(options.wave_window, ':');
    if (!window || window->first >= window->second)
      throw SimError("--wave-window {}: allowed from:to in cycles, from below to",
                     options.wave_window);
    trace.from = window->first;
    trace.to = window->second;
  }
  run.make_engine = [trace](int core, const engine::TensorEngineConfig& config) {
    return core == 0 ? engine::MakeTracedRtlTensorEngine(config, trace).engine
                     : engine::MakeRtlTensorEngine(config);
  };
}

}  // namespace bwmm::app
