// Every figure of the machine that can be changed, and where it comes from.
//
//   preset (trn3, trn2, trn1)  -->  user's TOML file  -->  key=value settings  -->  MachineConfig
//
// A preset is the TOML text of model/presets/, embedded in the binary; the source of each figure is
// a comment there. A user's file names only what it changes and starts from `base = "trn3"` (the
// default), "trn2" or "trn1". Keys read "machine.dma.start_ns".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/isa/sink.h"

namespace bwmm {

inline constexpr int kMostCores = 8;  // NeuronCores of a Trainium2 or Trainium3 chip

struct MachineConfig {
  std::string name;
  std::int64_t generation = 0;  // 2: Trainium, 3: Trainium2, 4: Trainium3
  std::int64_t cores = 0;

  struct Clock {
    std::int64_t tensor_mhz = 0;
    std::int64_t vector_mhz = 0;
    std::int64_t scalar_mhz = 0;
    std::int64_t gpsimd_mhz = 0;
    std::int64_t sync_mhz = 0;
  } clock;

  struct Sbuf {
    std::int64_t partitions = 0;
    std::int64_t bytes = 0;  // per partition
    std::int64_t reserved_bytes = 0;
  } sbuf;

  struct Psum {
    std::int64_t banks = 0;
    std::int64_t bank_bytes = 0;  // per partition
  } psum;

  struct Tensor {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t min_interval = 0;  // cycles
    std::int64_t throttle_ns = 0;   // window of the dI/dt throttle; 0: none
  } tensor;

  struct Compute {
    std::int64_t min_interval = 0;  // cycles an instruction occupies its engine at least
    // From the last element taken to the result visible; access_cycles: GpSimd and Sync.
    std::int64_t vector_latency_cycles = 0;
    std::int64_t scalar_latency_cycles = 0;
    std::int64_t access_cycles = 0;
    std::int64_t gpsimd_fixed = 0;  // cycles in front of iota
    std::int64_t vector_perf_modes = 0;
    std::int64_t fp8_modes = 0;
    std::int64_t scalar_2x = 0;
    std::int64_t activation_table_ns = 0;  // another function on the ScalarEngine
  } compute;

  struct QuantizeMx {
    std::int64_t pipeline_cycles = 0;  // first column in to first column out
  } quantize_mx;

  struct Sync {
    std::int64_t semaphore_ns = 0;
    std::int64_t register_load_cycles = 0;
  } sync;

  struct Dma {
    std::int64_t engines = 0;
    std::int64_t engine_mb_s = 0;
    std::int64_t queues = 0;         // of one engine
    std::int64_t turn_bytes = 0;     // that an engine moves before it turns to another queue
    std::int64_t gather_class = 0;   // of gathers and scatters; all others have class 1
    std::int64_t dge_instances = 0;  // ScalarE's and all others'
    std::int64_t dge_ns = 0;
    std::int64_t start_ns = 0;          // from the descriptors to the first byte
    std::int64_t skew_ns = 0;           // from one engine of a transfer to the next
    std::int64_t completion_ns = 0;     // from the last byte in place to the semaphore's update
    std::int64_t descriptor_bytes = 0;  // what one descriptor costs, as bytes at engine rate
    std::int64_t compute_percent = 0;   // DmaCompute rate as a share of the copy rate
    std::int64_t swdge_fixed_cycles = 0;
    std::int64_t swdge_descriptor_cycles = 0;
  } dma;

  struct Hbm {
    std::int64_t bandwidth_mb_s = 0;  // shared by all cores
    std::int64_t latency_ns = 0;
    std::int64_t capacity_mib = 0;
  } hbm;

  struct Link {
    std::int64_t barrier_ns = 0;
    std::int64_t sendrecv_ns = 0;
  } link;
};

// A preset's name, or the path of a TOML file. SimError on unknown keys (with the list of known
// ones), wrong types and values out of range.
MachineConfig LoadMachine(const std::string& name_or_toml_path);

// The same from TOML text; `where` is what an error calls it.
MachineConfig ParseMachine(std::string_view toml, const std::string& where);

// Sets one figure: ApplySetting(config, "machine.dma.start_ns", "900"). What figures must fit each
// other is checked by ValidateMachine only, so that several settings may pass through a state that
// is not valid.
void ApplySetting(MachineConfig& config, std::string_view key, std::string_view value);
// The loaders and RunMachine call it themselves.
void ValidateMachine(const MachineConfig& config);
// Whether a figure changes when things happen and nothing else: no program, no bits, no refusal.
bool IsTimeOnly(std::string_view key);

struct Setting {
  std::string key;
  std::int64_t value = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};
std::vector<Setting> SettingsOf(const MachineConfig& config);

std::vector<std::string> PresetNames();

isa::Limits LimitsOf(const MachineConfig& config);

}  // namespace bwmm
