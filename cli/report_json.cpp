#include "cli/report_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/version.h"
#include "model/support/printable.h"

namespace bwmm::cli {
namespace {

using nlohmann::json;
using units::kTimeClasses;
using units::kUnits;

// A number where there is one; JSON has neither NaN nor Inf.
json Number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

// An element of the result may be no number, and that may be the point.
json Value(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Inf" : "-Inf";
}

// A path as it is: JSON's text is UTF-8, and a path need not be.
json Exact(const std::string& text) {
  if (IsUtf8(text))
    return text;
  std::string bytes;
  for (const char c : text)
    bytes += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"bytes", bytes}};
}

json UnitsJson(const std::array<UnitResult, kUnits>& all) {
  json units;
  for (int u = 0; u < kUnits; ++u) {
    json stall;
    for (int c = 1; c < kTimeClasses; ++c)
      stall[std::string(units::NameOf(static_cast<TimeClass>(c)))] = all[u].cycles[c];
    units[std::string(units::NameOf(static_cast<Unit>(u)))] = {
        {"busy", all[u].busy()}, {"stall", stall}, {"instructions", all[u].instructions}};
  }
  return units;
}

template <typename Result>
json BytesJson(const Result& result) {
  return {{"hbm_read", result.hbm_read},
          {"hbm_write", result.hbm_write},
          {"sendrecv", result.sendrecv}};
}

json ErrorJson(const workloads::RunReport& report) {
  if (!report.verdict.error)
    return {{"skipped", report.verdict.skipped}};
  const workloads::ErrorReport& error = *report.verdict.error;
  json result = {
      {"max_row_rel", Number(error.max_row_rel)},
      {"max_ulp_bf16",
       workloads::IsMeaningful(error.max_ulp_bf16) ? json(error.max_ulp_bf16) : json(nullptr)},
      {"max_bound_ratio", Number(error.max_bound_ratio)},
      {"rms_ratio", error.rms_ratio ? Number(*error.rms_ratio) : json(nullptr)},
      {"compared", error.compared},
      {"failed_rule", error.failed_rule.empty() ? json(nullptr) : json(error.failed_rule)},
      {"worst", nullptr},
      {"pass", error.pass}};
  if (error.worst) {
    result["worst"] = {{"row", error.worst->row},
                       {"column", error.worst->column},
                       {"value", Value(error.worst->value)},
                       {"expected", Value(error.worst->expected)},
                       {"bound", Value(error.worst->bound)}};
  }
  return result;
}

void AddWork(const workloads::RunReport& report, json& result) {
  result["throughput"] = {{"tflops", nullptr}, {"useful_tflops", nullptr}};
  result["work"] = {{"multiply_adds", nullptr},
                    {"useful_multiply_adds", OrNull(report.facts.useful_multiply_adds)},
                    {"useful_share", nullptr}};
  if (const auto throughput = workloads::ThroughputOf(report)) {
    result["throughput"] = {{"tflops", throughput->tflops},
                            {"useful_tflops", OrNull(throughput->useful_tflops)}};
    result["work"]["multiply_adds"] = throughput->multiply_adds;
    result["work"]["useful_share"] = OrNull(throughput->useful_share);
  }
  if (!report.facts.blocks)
    return;
  result["block_size"] = report.facts.blocks->block_size;
  result["blocks"] = {{"count", report.facts.blocks->blocks},
                      {"live", report.facts.blocks->live_blocks},
                      {"rows", report.facts.blocks->rows},
                      {"dropped_rows", OrNull(report.facts.blocks->dropped_rows)}};
}

// What the machine counted; the executor has none of it.
void AddTimes(const workloads::RunReport& report, json& result) {
  for (const char* key : {"cycles", "seconds_modelled", "engines", "bytes", "cores"})
    result[key] = nullptr;
  if (!report.timed)
    return;
  const RunResult& run = report.result;
  result["cycles"] = run.cycles;
  result["seconds_modelled"] = run.seconds_modelled;
  std::array<UnitResult, kUnits> totals;
  for (int u = 0; u < kUnits; ++u)
    totals[u] = workloads::TotalOf(run, u);
  result["engines"] = UnitsJson(totals);
  result["bytes"] = BytesJson(run);
  for (const CoreResult& core : run.cores) {
    result["cores"].push_back({{"engines", UnitsJson(core.units)},
                               {"instructions", core.instructions},
                               {"multiply_adds", core.multiply_adds},
                               {"bytes", BytesJson(core)}});
  }
}

void AddProvenance(const workloads::RunReport& report, json& result) {
  const workloads::Provenance& provenance = report.provenance;
  result["version"] = Version();
  result["arguments"] = json::array();
  for (const std::string& argument : provenance.arguments)
    result["arguments"].push_back(Exact(argument));
  result["seed"] = provenance.seed;
  result["routing"] = OrNull(report.facts.routing);
  result["inputs"] = json::array();
  for (const auto& [path, checksum] : provenance.inputs)
    result["inputs"].push_back({{"path", Exact(path)}, {"checksum", checksum}});
  result["machine_preset"] = provenance.machine_preset;
  result["machine_changes"] = json::object();
  for (const auto& [key, value, preset] : provenance.machine_changes)
    result["machine_changes"][key] = {{"value", value}, {"preset", preset}};
  result["settings"] = json::object();
  for (const auto& [key, value] : provenance.settings)
    result["settings"][key] = value;
}

}  // namespace

std::string ToJson(const workloads::RunReport& report) {
  json result;
  AddProvenance(report, result);
  result["command"] = report.command;
  result["workload"] = report.workload;
  result["variant"] = report.facts.variant;
  result["model"] = report.facts.model;
  result["fidelity"] = report.timed ? NameOf(report.fidelity) : "sequential";
  result["machine"] = report.machine.name;
  result["tokens"] = report.facts.tokens;
  result["clock_mhz"] = report.machine.clock.tensor_mhz;
  result["wall_seconds"] = report.wall_seconds;
  result["instructions"] = report.result.instructions;
  result["checked"] = report.checked;
  result["checksum"] = OrNull(report.checksum);
  result["error"] = ErrorJson(report);
  AddWork(report, result);
  AddTimes(report, result);
  for (const auto& [key, value] : report.facts.rows)
    result["facts"][key] = value;
  // A value may hold bytes that are no UTF-8.
  return result.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace bwmm::cli
