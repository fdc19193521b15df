#include "cli/wave.h"

#include <optional>
#include <string_view>

#include "model/engine/make_engines.h"
#include "model/support/setting.h"
#include "model/support/sim_error.h"

namespace bwmm::cli {
namespace {

// "12,34" or "12:34" as two numbers.
std::optional<std::pair<std::uint64_t, std::uint64_t>> Pair(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::pair<std::uint64_t, std::uint64_t> result;
  if (ParseWhole(text.substr(0, at), result.first) != Parsed::kNumber ||
      ParseWhole(text.substr(at + 1), result.second) != Parsed::kNumber)
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

}  // namespace

WaveDump::WaveDump(const CommonOptions& options, const MachineConfig& machine, RunOptions& run) {
  engine::TraceOptions trace{.path = options.wave,
                             .cycle_ps = 1e6 / static_cast<double>(machine.clock.tensor_mhz)};
  const std::string place = options.probe.empty() ? kDefaultProbe : options.probe;
  const auto probe = Pair(place, ',');
  if (!probe || probe->first >= static_cast<std::uint64_t>(machine.tensor.rows) ||
      probe->second >= static_cast<std::uint64_t>(machine.tensor.cols)) {
    throw SimError("--probe {}: allowed row,column up to {},{}", place, machine.tensor.rows - 1,
                   machine.tensor.cols - 1);
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
  trace.failed = [this](const std::string& reason) { failure_ = reason; };
  run.make_engine = [this, trace](int core, const engine::TensorEngineConfig& config) {
    if (core != 0)
      return engine::MakeRtlTensorEngine(config);
    engine::TracedTensorEngine traced = engine::MakeTracedRtlTensorEngine(config, trace);
    dump_ = traced.trace;
    return std::move(traced.engine);
  };
  run.observers.push_back(this);
}

void WaveDump::Check() const {
  if (!failure_.empty())
    throw SimError("{}", failure_);
}

void WaveDump::Started(const ops::Start& start) {
  if (start.instruction.core == 0)
    dump_->machine().Started(Picoseconds(start.at), TracedUnitOf(start.unit), start.instruction.id,
                             isa::OpcodeOf(start.instruction));
}

void WaveDump::Spent(const ops::Spending& spending) {
  if (spending.core == 0)
    dump_->machine().Spent(
        Picoseconds(spending.from), Picoseconds(spending.to), TracedUnitOf(spending.unit),
        spending.time_class == TimeClass::kBusy ? "" : NameOf(spending.time_class));
}

std::uint64_t WaveDump::Picoseconds(ops::Ticks ticks) const {
  return static_cast<std::uint64_t>(clock_.Seconds(ticks) * 1e12 + 0.5);
}

}  // namespace bwmm::cli
