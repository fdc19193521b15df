#include "workloads/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/support/printable.h"

namespace bwmm::workloads {
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

// Ratios far above 1 keep their order of magnitude only; without a finite one there is none to say.
std::string Ratio(double ratio) {
  if (!std::isfinite(ratio))
    return "-";
  return ratio < 1e4 ? fmt::format("{:.3f}", ratio) : fmt::format("{:.1e}", ratio);
}

std::string Line(std::string_view key, const std::string& value) {
  return fmt::format("{:<16} {}\n", key, Printable(value));
}

std::string MachineText(const RunReport& report) {
  std::string changes;
  for (const auto& [key, value, preset] : report.provenance.machine_changes)
    changes += fmt::format("{}{} {}, preset {}", changes.empty() ? "" : "; ", key, value, preset);
  return changes.empty() ? report.machine.name : report.machine.name + " (" + changes + ")";
}

void AppendTimes(const RunReport& report, std::string& text) {
  const RunResult& result = report.result;
  text += Line("machine",
               fmt::format("{}, {} core{}, fidelity {}", MachineText(report), result.cores.size(),
                           result.cores.size() == 1 ? "" : "s", NameOf(report.fidelity)));
  text +=
      Line("cycles", fmt::format("{} TensorEngine cycles = {:.3f} us at {} MHz", result.cycles,
                                 result.seconds_modelled * 1e6, report.machine.clock.tensor_mhz));
  text += Line("instructions", fmt::format("{}", result.instructions));

  text += fmt::format("\n{:<8} {:>12} {:>7}   {}\n", "engine", "instructions", "busy",
                      "waiting for (largest three)");
  const double cycles = static_cast<double>(result.cycles * result.cores.size());
  for (int u = 0; u < kUnits; ++u) {
    const UnitResult unit = TotalOf(result, u);
    text += fmt::format(
        "{:<8} {:>12} {:>6.1f}%   {}\n", units::NameOf(static_cast<Unit>(u)), unit.instructions,
        cycles > 0 ? 100.0 * static_cast<double>(unit.busy()) / cycles : 0.0, Stalls(unit, cycles));
  }
  text += "\n";
  text += Line("bytes", fmt::format("HBM read {}, HBM write {}, sendrecv {}",
                                    Bytes(static_cast<double>(result.hbm_read)),
                                    Bytes(static_cast<double>(result.hbm_write)),
                                    Bytes(static_cast<double>(result.sendrecv))));
  if (const auto throughput = ThroughputOf(report)) {
    std::string line =
        fmt::format("{:.2f} TFLOPS over {} cores", throughput->tflops, result.cores.size());
    if (throughput->useful_share) {
      line += fmt::format(", {:.2f} useful: {:.1f}% of the work is no padding",
                          *throughput->useful_tflops, 100 * *throughput->useful_share);
    }
    text += Line("throughput", line);
  }
}

void AppendError(const ErrorReport& error, std::string& text) {
  const bool measured = error.compared > 0;
  std::string line = error.pass ? "inside" : measured ? "OUTSIDE" : "NOT COMPARED";
  if (measured) {
    line += fmt::format(": {} of the derived bound", Ratio(error.max_bound_ratio));
    if (error.rms_ratio)
      line += fmt::format(", RMS {} of its limit", Ratio(*error.rms_ratio));
    line += fmt::format(
        "; row-relative {}, {} ulp; {} compared",
        std::isfinite(error.max_row_rel) ? fmt::format("{:.3e}", error.max_row_rel) : "-",
        IsMeaningful(error.max_ulp_bf16) ? fmt::format("{:.1f}", error.max_ulp_bf16) : "-",
        error.compared);
  }
  text += Line("error", line);
  if (!error.failed_rule.empty())
    text += Line("failed rule", error.failed_rule);
  if (error.worst && !error.pass) {
    const ErrorReport::Element& worst = *error.worst;
    text += Line("worst element",
                 fmt::format("row {}, column {}: {:.6g}, expected {:.6g}, bound {:.3g}", worst.row,
                             worst.column, worst.value, worst.expected, worst.bound));
  }
}

}  // namespace

double PeakFlops(const MachineConfig& machine, bool mx) {
  const double macs = static_cast<double>(machine.tensor.rows * machine.tensor.cols) * (mx ? 4 : 1);
  return 2 * macs * static_cast<double>(machine.clock.tensor_mhz) * 1e6;
}

UnitResult TotalOf(const RunResult& result, int unit) {
  UnitResult total;
  for (const CoreResult& core : result.cores) {
    total.instructions += core.units[unit].instructions;
    for (int c = 0; c < kTimeClasses; ++c)
      total.cycles[c] += core.units[unit].cycles[c];
  }
  return total;
}

std::optional<Throughput> ThroughputOf(const RunReport& report) {
  Throughput throughput;
  for (const CoreResult& core : report.result.cores)
    throughput.multiply_adds += static_cast<double>(core.multiply_adds);
  const double seconds = report.result.seconds_modelled;
  if (throughput.multiply_adds == 0 || seconds == 0)
    return std::nullopt;
  throughput.tflops = 2 * throughput.multiply_adds / seconds / 1e12;
  if (report.facts.useful_multiply_adds) {
    throughput.useful_share = *report.facts.useful_multiply_adds / throughput.multiply_adds;
    throughput.useful_tflops = throughput.tflops * *throughput.useful_share;
  }
  return throughput;
}

bool IsMeaningful(double ulps) {
  return std::isfinite(ulps) && ulps < 0x1p32;
}

std::string ToText(const RunReport& report) {
  const RunResult& result = report.result;
  std::string text;
  for (const auto& [key, value] : report.facts.rows)
    text += Line(key, value);
  std::string settings;
  for (const auto& [key, value] : report.provenance.settings)
    settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", key, value);
  if (!settings.empty())
    text += Line("settings", settings);
  if (report.timed) {
    AppendTimes(report, text);
  } else {
    text += Line("machine", "the sequential executor: program order, no time");
    text += Line("instructions", fmt::format("{}", result.instructions));
  }
  if (report.verdict.error)
    AppendError(*report.verdict.error, text);
  else
    text += Line("error", "not checked: " + report.verdict.skipped);
  if (!report.checked)
    text += Line("checkers", "off: races and reads of unwritten bytes are not looked for");
  text += Line("checksum", report.checksum.value_or("none (timing moves no tensor data)"));
  text += Line("wall time", fmt::format("{:.2f} s", report.wall_seconds));
  return text;
}

}  // namespace bwmm::workloads
