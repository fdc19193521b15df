#include "model/app/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/support/write_file.h"

namespace bwmm::app {
namespace {

using units::kTimeClasses;
using units::kUnits;

std::string Bytes(double bytes) {
  for (const char* unit : {"B", "KiB", "MiB", "GiB"}) {
    if (bytes < 1024)
      return fmt::format("{:.{}f} {}", bytes, bytes < 10 && *unit != 'B' ? 2 : 1, unit);
    bytes /= 1024;
  }
  return fmt::format("{:.2f} TiB", bytes);
}

// Sum over cores of one unit.
UnitResult Total(const RunResult& result, int unit) {
  UnitResult total;
  for (const CoreResult& core : result.cores) {
    total.instructions += core.units[unit].instructions;
    for (int c = 0; c < kTimeClasses; ++c)
      total.cycles[c] += core.units[unit].cycles[c];
  }
  return total;
}

// "dma 31.2%, vector 4.0%": the largest classes a unit lost time to.
std::string Stalls(const UnitResult& unit, double cycles) {
  std::vector<std::pair<std::uint64_t, int>> classes;
  for (int c = 1; c < kTimeClasses; ++c) {
    if (unit.cycles[c] > 0)
      classes.emplace_back(unit.cycles[c], c);
  }
  std::sort(classes.rbegin(), classes.rend());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, classes.size()); ++i) {
    text += fmt::format("{}{} {:.1f}%", i == 0 ? "" : ", ",
                        units::NameOf(static_cast<TimeClass>(classes[i].second)),
                        100.0 * static_cast<double>(classes[i].first) / cycles);
  }
  return text;
}

nlohmann::json UnitsJson(const std::array<UnitResult, kUnits>& all) {
  nlohmann::json json;
  for (int u = 0; u < kUnits; ++u) {
    nlohmann::json stall;
    for (int c = 1; c < kTimeClasses; ++c)
      stall[std::string(units::NameOf(static_cast<TimeClass>(c)))] = all[u].cycles[c];
    json[std::string(units::NameOf(static_cast<Unit>(u)))] = {
        {"busy", all[u].busy()}, {"stall", stall}, {"instructions", all[u].instructions}};
  }
  return json;
}

std::string Line(std::string_view key, const std::string& value) {
  return fmt::format("{:<16} {}\n", key, value);
}

void AppendTimes(const RunReport& report, std::string& text) {
  const RunResult& result = report.result;
  text += Line("machine", fmt::format("{}, {} cores, fidelity {}", report.machine.name,
                                      result.cores.size(), NameOf(report.fidelity)));
  text +=
      Line("cycles", fmt::format("{} TensorEngine cycles = {:.3f} us at {} MHz", result.cycles,
                                 result.seconds_modelled * 1e6, report.machine.clock.tensor_mhz));
  text += Line("instructions", fmt::format("{}", result.instructions));

  text += fmt::format("\n{:<8} {:>12} {:>7}   {}\n", "engine", "instructions", "busy",
                      "waiting for (largest three)");
  const double cycles = static_cast<double>(result.cycles * result.cores.size());
  for (int u = 0; u < kUnits; ++u) {
    const UnitResult unit = Total(result, u);
    text += fmt::format(
        "{:<8} {:>12} {:>6.1f}%   {}\n", units::NameOf(static_cast<Unit>(u)), unit.instructions,
        cycles > 0 ? 100.0 * static_cast<double>(unit.busy()) / cycles : 0.0, Stalls(unit, cycles));
  }
  text += "\n";
  text += Line("bytes", fmt::format("HBM read {}, HBM write {}, sendrecv {}",
                                    Bytes(static_cast<double>(result.hbm_read)),
                                    Bytes(static_cast<double>(result.hbm_write)),
                                    Bytes(static_cast<double>(result.sendrecv))));
  double macs = 0;
  for (const CoreResult& core : result.cores)
    macs += static_cast<double>(core.multiply_adds);
  if (macs > 0 && result.seconds_modelled > 0)
    text += Line("throughput",
                 fmt::format("{:.2f} TFLOPS over {} cores",
                             2 * macs / result.seconds_modelled / 1e12, result.cores.size()));
}

}  // namespace

double PeakFlops(const MachineConfig& machine, bool mx) {
  const double macs = static_cast<double>(machine.tensor.rows * machine.tensor.cols) * (mx ? 4 : 1);
  return 2 * macs * static_cast<double>(machine.clock.tensor_mhz) * 1e6;
}

std::string ToText(const RunReport& report) {
  const RunResult& result = report.result;
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += Line(key, value);
  };
  for (const auto& [key, value] : report.facts)
    line(key, value);
  if (report.timed) {
    AppendTimes(report, text);
  } else {
    line("machine", "the sequential executor: program order, no time");
    line("instructions", fmt::format("{}", result.instructions));
  }
  if (report.error) {
    line("error",
         fmt::format("{}: {:.3f} of the derived bound; row-relative {:.3e}, {:.1f} ulp",
                     report.error->pass ? "inside" : "OUTSIDE", report.error->max_bound_ratio,
                     report.error->max_row_rel, report.error->max_ulp_bf16));
  } else {
    line("error", "not checked: " + report.error_skipped);
  }
  if (!report.checked)
    line("checkers", "off: races and reads of unwritten bytes are not looked for");
  line("checksum", report.checksum.value_or("none (timing moves no tensor data)"));
  line("wall time", fmt::format("{:.2f} s", report.wall_seconds));
  return text;
}

void WriteJson(const RunReport& report, const std::string& path) {
  const RunResult& result = report.result;
  nlohmann::json json;
  json["command"] = report.command;
  json["variant"] = report.variant;
  json["model"] = report.model;
  json["fidelity"] = report.timed ? NameOf(report.fidelity) : "sequential";
  json["machine"] = report.machine.name;
  json["tokens"] = report.tokens;
  json["cycles"] = result.cycles;
  json["seconds_modelled"] = result.seconds_modelled;
  json["wall_seconds"] = report.wall_seconds;
  json["instructions"] = result.instructions;
  json["checked"] = report.checked;
  json["checksum"] = report.checksum ? nlohmann::json(*report.checksum) : nlohmann::json(nullptr);
  if (report.error) {
    json["error"] = {{"max_row_rel", report.error->max_row_rel},
                     {"max_ulp_bf16", report.error->max_ulp_bf16},
                     {"max_bound_ratio", report.error->max_bound_ratio},
                     {"pass", report.error->pass}};
  } else {
    json["error"] = {{"skipped", report.error_skipped}};
  }
  std::array<UnitResult, kUnits> totals;
  for (int u = 0; u < kUnits; ++u)
    totals[u] = Total(result, u);
  json["engines"] = UnitsJson(totals);
  json["bytes"] = {{"hbm_read", result.hbm_read},
                   {"hbm_write", result.hbm_write},
                   {"sendrecv", result.sendrecv}};
  for (const CoreResult& core : result.cores) {
    json["cores"].push_back({{"engines", UnitsJson(core.units)},
                             {"instructions", core.instructions},
                             {"multiply_adds", core.multiply_adds},
                             {"bytes",
                              {{"hbm_read", core.hbm_read},
                               {"hbm_write", core.hbm_write},
                               {"sendrecv", core.sendrecv}}}});
  }
  for (const auto& [key, value] : report.facts)
    json["facts"][key] = value;
  WriteFileAtomically(path, {BytesOf(json.dump(2) + "\n")});
}

}  // namespace bwmm::app
