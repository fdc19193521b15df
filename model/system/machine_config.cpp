#include "model/system/machine_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "model/support/setting.h"
#include "model/support/sim_error.h"

namespace bwmm {

std::span<const std::pair<std::string_view, std::string_view>> MachinePresetTexts();

namespace {

using Int = std::int64_t;

struct Field {
  std::string_view key;
  Int& (*ref)(MachineConfig&);
  Int min, max;
  bool time_only = true;  // no program, no bits and no refusal depend on it
};

constexpr Int kMaxMhz = 10'000;
constexpr Int kMaxNs = 1'000'000;
constexpr Int kMaxCycles = 100'000;
constexpr Int kMaxMbS = 100'000'000;

using Config = MachineConfig;
const Field kFields[] = {
    {"machine.generation", [](Config& c) -> Int& { return c.generation; }, 2, 4, false},
    {"machine.cores", [](Config& c) -> Int& { return c.cores; }, 1, kMostCores, false},
    {"machine.clock.tensor_mhz", [](Config& c) -> Int& { return c.clock.tensor_mhz; }, 100,
     kMaxMhz},
    {"machine.clock.vector_mhz", [](Config& c) -> Int& { return c.clock.vector_mhz; }, 100,
     kMaxMhz},
    {"machine.clock.scalar_mhz", [](Config& c) -> Int& { return c.clock.scalar_mhz; }, 100,
     kMaxMhz},
    {"machine.clock.gpsimd_mhz", [](Config& c) -> Int& { return c.clock.gpsimd_mhz; }, 100,
     kMaxMhz},
    {"machine.clock.sync_mhz", [](Config& c) -> Int& { return c.clock.sync_mhz; }, 100, kMaxMhz},
    {"machine.sbuf.partitions", [](Config& c) -> Int& { return c.sbuf.partitions; }, 32, 128,
     false},
    {"machine.sbuf.bytes", [](Config& c) -> Int& { return c.sbuf.bytes; }, 1024, 4 << 20, false},
    {"machine.sbuf.reserved_bytes", [](Config& c) -> Int& { return c.sbuf.reserved_bytes; }, 0,
     1 << 20, false},
    {"machine.psum.banks", [](Config& c) -> Int& { return c.psum.banks; }, 1, 64, false},
    {"machine.psum.bank_bytes", [](Config& c) -> Int& { return c.psum.bank_bytes; }, 64, 64 << 10,
     false},
    {"machine.tensor.rows", [](Config& c) -> Int& { return c.tensor.rows; }, 32, 128, false},
    {"machine.tensor.cols", [](Config& c) -> Int& { return c.tensor.cols; }, 8, 128, false},
    {"machine.tensor.min_interval", [](Config& c) -> Int& { return c.tensor.min_interval; }, 1,
     kMaxCycles},
    {"machine.tensor.throttle_ns", [](Config& c) -> Int& { return c.tensor.throttle_ns; }, 0,
     kMaxNs},
    {"machine.compute.min_interval", [](Config& c) -> Int& { return c.compute.min_interval; }, 1,
     kMaxCycles},
    {"machine.compute.vector_latency_cycles",
     [](Config& c) -> Int& { return c.compute.vector_latency_cycles; }, 1, kMaxCycles},
    {"machine.compute.scalar_latency_cycles",
     [](Config& c) -> Int& { return c.compute.scalar_latency_cycles; }, 1, kMaxCycles},
    {"machine.compute.access_cycles", [](Config& c) -> Int& { return c.compute.access_cycles; }, 1,
     kMaxCycles},
    {"machine.compute.gpsimd_fixed", [](Config& c) -> Int& { return c.compute.gpsimd_fixed; }, 0,
     kMaxCycles},
    {"machine.compute.vector_perf_modes",
     [](Config& c) -> Int& { return c.compute.vector_perf_modes; }, 0, 1},
    {"machine.compute.fp8_modes", [](Config& c) -> Int& { return c.compute.fp8_modes; }, 0, 1},
    {"machine.compute.scalar_2x", [](Config& c) -> Int& { return c.compute.scalar_2x; }, 0, 1},
    {"machine.compute.activation_table_ns",
     [](Config& c) -> Int& { return c.compute.activation_table_ns; }, 0, kMaxNs},
    {"machine.quantize_mx.pipeline_cycles",
     [](Config& c) -> Int& { return c.quantize_mx.pipeline_cycles; }, 1, kMaxCycles},
    {"machine.sync.semaphore_ns", [](Config& c) -> Int& { return c.sync.semaphore_ns; }, 0, kMaxNs},
    {"machine.sync.register_load_cycles",
     [](Config& c) -> Int& { return c.sync.register_load_cycles; }, 1, kMaxCycles},
    {"machine.dma.engines", [](Config& c) -> Int& { return c.dma.engines; }, 1, 64},
    {"machine.dma.engine_mb_s", [](Config& c) -> Int& { return c.dma.engine_mb_s; }, 1, kMaxMbS},
    {"machine.dma.queues", [](Config& c) -> Int& { return c.dma.queues; }, 1, 64},
    {"machine.dma.turn_bytes", [](Config& c) -> Int& { return c.dma.turn_bytes; }, 512, 1 << 30},
    {"machine.dma.gather_class", [](Config& c) -> Int& { return c.dma.gather_class; }, 0, 3},
    {"machine.dma.dge_instances", [](Config& c) -> Int& { return c.dma.dge_instances; }, 1, 2},
    {"machine.dma.dge_ns", [](Config& c) -> Int& { return c.dma.dge_ns; }, 0, kMaxNs},
    {"machine.dma.start_ns", [](Config& c) -> Int& { return c.dma.start_ns; }, 0, kMaxNs},
    {"machine.dma.skew_ns", [](Config& c) -> Int& { return c.dma.skew_ns; }, 0, kMaxNs},
    {"machine.dma.completion_ns", [](Config& c) -> Int& { return c.dma.completion_ns; }, 0, kMaxNs},
    {"machine.dma.descriptor_bytes", [](Config& c) -> Int& { return c.dma.descriptor_bytes; }, 0,
     1 << 20},
    {"machine.dma.compute_percent", [](Config& c) -> Int& { return c.dma.compute_percent; }, 1,
     100},
    {"machine.dma.swdge_fixed_cycles", [](Config& c) -> Int& { return c.dma.swdge_fixed_cycles; },
     0, kMaxCycles},
    {"machine.dma.swdge_descriptor_cycles",
     [](Config& c) -> Int& { return c.dma.swdge_descriptor_cycles; }, 0, kMaxCycles},
    {"machine.hbm.bandwidth_mb_s", [](Config& c) -> Int& { return c.hbm.bandwidth_mb_s; }, 1,
     kMaxMbS},
    {"machine.hbm.latency_ns", [](Config& c) -> Int& { return c.hbm.latency_ns; }, 0, kMaxNs},
    {"machine.hbm.capacity_mib", [](Config& c) -> Int& { return c.hbm.capacity_mib; }, 1, 1 << 20,
     false},
    {"machine.link.barrier_ns", [](Config& c) -> Int& { return c.link.barrier_ns; }, 0, kMaxNs},
    {"machine.link.sendrecv_ns", [](Config& c) -> Int& { return c.link.sendrecv_ns; }, 0, kMaxNs},
};

template <typename List, typename NameOf>
std::string Joined(const List& list, NameOf name_of) {
  std::string text;
  for (const auto& item : list)
    text += (text.empty() ? "" : ", ") + std::string(name_of(item));
  return text;
}

std::string KnownPresets() {
  return Joined(MachinePresetTexts(), [](const auto& preset) { return preset.first; });
}

const Field& FieldOf(std::string_view key) {
  return FindKey(kFields, key, [&](const std::string& known) {
    throw SimError("machine setting: unknown key {}, known keys: {}", key, known);
  });
}

void Set(MachineConfig& config, const Field& field, std::int64_t value) {
  if (value < field.min || value > field.max)
    throw SimError("{}: {}, allowed {} to {}", field.key, value, field.min, field.max);
  field.ref(config) = value;
}

void ApplyTable(MachineConfig& config, const toml::table& table, const std::string& prefix,
                const std::string& where) {
  for (const auto& [name, node] : table) {
    const std::string key =
        prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      ApplyTable(config, *inner, key, where);
    } else if (key == "base") {
      continue;
    } else {
      const Field& field = FieldOf(key);
      if (!node.is_integer())
        throw SimError("{}: {}: not an integer", where, key);
      Set(config, field, node.as_integer()->get());
    }
  }
}

toml::table ParseToml(std::string_view text, const std::string& where) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw SimError("{}: line {}: {}", where, error.source().begin.line, error.description());
  }
}

// The preset that `table` starts from, on its own base. One without a base sets every figure.
void ApplyBase(MachineConfig& config, const toml::table& table, const std::string& where) {
  const auto base = table["base"].value<std::string>();
  if (!base)
    return;
  for (const auto& [name, text] : MachinePresetTexts()) {
    if (name != *base)
      continue;
    const toml::table preset = ParseToml(text, *base);
    ApplyBase(config, preset, *base);
    ApplyTable(config, preset, "", *base);
    return;
  }
  throw SimError("{}: base {}, allowed {}", where, *base, KnownPresets());
}

// `base`: where it starts when it does not say so.
MachineConfig FromToml(std::string_view toml, const std::string& where,
                       std::optional<std::string_view> base) {
  toml::table table = ParseToml(toml, where);
  if (table.contains("base") && !table["base"].is_string())
    throw SimError("{}: base is not a text, allowed {}", where, KnownPresets());
  if (base && !table.contains("base"))
    table.insert("base", *base);
  MachineConfig config;
  ApplyBase(config, table, where);
  ApplyTable(config, table, "", where);
  config.name = where;
  ValidateMachine(config);
  return config;
}

}  // namespace

void ValidateMachine(const MachineConfig& config) {
  // A config made by hand may hold what no loader lets through.
  for (const Setting& setting : SettingsOf(config)) {
    if (setting.value < setting.min || setting.value > setting.max)
      throw SimError("{}: {}, allowed {} to {}", setting.key, setting.value, setting.min,
                     setting.max);
  }
  if (config.sbuf.reserved_bytes >= config.sbuf.bytes)
    throw SimError("machine.sbuf.reserved_bytes: {}, allowed less than machine.sbuf.bytes = {}",
                   config.sbuf.reserved_bytes, config.sbuf.bytes);
  if (config.tensor.rows != config.sbuf.partitions)
    throw SimError(
        "machine.tensor.rows: {}, allowed {}, machine.sbuf.partitions; the two are set together",
        config.tensor.rows, config.sbuf.partitions);
  if (config.psum.bank_bytes % 4 != 0)
    throw SimError("machine.psum.bank_bytes: {}, allowed multiples of 4", config.psum.bank_bytes);
}

bool IsTimeOnly(std::string_view key) {
  return FieldOf(key).time_only;
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const auto& [name, text] : MachinePresetTexts())
    names.emplace_back(name);
  return names;
}

MachineConfig ParseMachine(std::string_view toml, const std::string& where) {
  return FromToml(toml, where, "trn3");
}

MachineConfig LoadMachine(const std::string& name_or_toml_path) {
  for (const auto& [name, text] : MachinePresetTexts()) {
    if (name == name_or_toml_path)
      return FromToml(text, name_or_toml_path, {});
  }
  // A pipe would be waited for.
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(name_or_toml_path, error);
  std::ifstream file;
  if (regular)
    file.open(name_or_toml_path);
  if (!file.is_open())
    throw SimError("machine: {}, neither a preset ({}) nor a readable TOML file", name_or_toml_path,
                   KnownPresets());
  std::ostringstream text;
  text << file.rdbuf();
  return ParseMachine(text.str(), name_or_toml_path);
}

void ApplySetting(MachineConfig& config, std::string_view key, std::string_view value) {
  const Field& field = FieldOf(key);
  Int number = 0;
  if (ParseWhole(value, number) != Parsed::kNumber)
    throw SimError("{}: {}, allowed an integer from {} to {}", key, value, field.min, field.max);
  Set(config, field, number);
}

std::vector<Setting> SettingsOf(const MachineConfig& config) {
  MachineConfig copy = config;
  std::vector<Setting> settings;
  for (const Field& field : kFields)
    settings.push_back({std::string(field.key), field.ref(copy), field.min, field.max});
  return settings;
}

isa::Limits LimitsOf(const MachineConfig& config) {
  return {.generation = static_cast<int>(config.generation),
          .cores = static_cast<int>(config.cores),
          .partitions = static_cast<int>(config.sbuf.partitions),
          .psum_partitions = static_cast<int>(config.tensor.cols),
          .sbuf_bytes = config.sbuf.bytes - config.sbuf.reserved_bytes,
          .psum_banks = static_cast<int>(config.psum.banks),
          .psum_bank_bytes = config.psum.bank_bytes};
}

}  // namespace bwmm
