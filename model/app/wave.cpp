#include "model/app/wave.h"

#include <charconv>
#include <memory>
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

engine::TracedUnit TracedUnitOf(Unit unit) {
  switch (unit) {
    case Unit::kTensor:
      return engine::TracedUnit::kTensor;
    case Unit::kVector:
      return engine::TracedUnit::kVector;
    case Unit::kScalar:
      return engine::TracedUnit::kScalar;
    case Unit::kGpSimd:
      return engine::TracedUnit::kGpSimd;
    case Unit::kSync:
      return engine::TracedUnit::kSync;
    case Unit::kDma:
      return engine::TracedUnit::kDma;
  }
  return engine::TracedUnit::kTensor;
}

std::uint64_t Picoseconds(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1e12 + 0.5);
}

}  // namespace

std::shared_ptr<const std::string> TraceCore0(const CommonOptions& options,
                                              const MachineConfig& machine, RunOptions& run) {
  auto failure = std::make_shared<std::string>();
  if (options.wave.empty())
    return failure;
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
  trace.failed = [failure](const std::string& reason) { *failure = reason; };
  // The trace lives in core 0's engine, which the machine owns while it runs.
  auto dump = std::make_shared<engine::EngineTrace*>(nullptr);
  run.make_engine = [trace, dump](int core, const engine::TensorEngineConfig& config) {
    if (core != 0)
      return engine::MakeRtlTensorEngine(config);
    engine::TracedTensorEngine traced = engine::MakeTracedRtlTensorEngine(config, trace);
    *dump = traced.trace;
    return std::move(traced.engine);
  };
  run.unit_start = [dump](const UnitStart& start) {
    if (start.core == 0)
      (*dump)->machine().Started(Picoseconds(start.seconds), TracedUnitOf(start.unit), start.id,
                                 start.opcode);
  };
  run.unit_time = [dump](const UnitTime& time) {
    if (time.core == 0)
      (*dump)->machine().Spent(
          Picoseconds(time.from), Picoseconds(time.to), TracedUnitOf(time.unit),
          time.time_class == TimeClass::kBusy ? "" : units::NameOf(time.time_class));
  };
  return failure;
}

}  // namespace bwmm::app
