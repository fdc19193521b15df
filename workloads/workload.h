// What `bwmm run` runs. A workload says what is its own; everything else (fidelities, report, JSON
// and its rerun, listing, waves, progress, races, signals) is the runner's, the same for all.
//
//   options, settings --> Prepare: tensors in HBM --> Run: the program of each core
//                                                        |
//              facts, outputs with their checksum, verdict of a reference with a bound
//
// A workload is one file with one registration line (registry.h); docs/write_a_kernel.md goes
// through one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "host/host_tensor.h"
#include "model/isa/sink.h"
#include "model/ops/memory.h"
#include "model/system/machine.h"
#include "workloads/option.h"
#include "workloads/run_report.h"

namespace bwmm::workloads {

// What all random values of a run come from. It knows whether anything was drawn, for a seed that
// changes nothing is refused.
class Seed {
 public:
  explicit Seed(std::uint64_t value = 1) : value_(value) {}
  std::uint64_t Draw() const {
    drawn_ = true;
    return value_;
  }
  bool drawn() const { return drawn_; }

 private:
  std::uint64_t value_;
  mutable bool drawn_ = false;
};

// What is known before the run.
struct Setup {
  MachineConfig machine = {};
  Fidelity fidelity = Fidelity::kFast;
  bool sequential = false;  // on the executor, without time
  bool with_data = true;    // false: timing, where only control tensors have data
  Seed seed = Seed();
  std::vector<KeyValue> settings = {};  // --set key=value, but for the machine's
  std::set<std::string> given = {};     // options of the command line, "--seed"
  // Tells of a file that no option names, before it is read. SimError when an output would
  // overwrite it.
  std::function<void(const NamedFile&)> reads = [](const NamedFile&) {};

  isa::Limits limits() const { return LimitsOf(machine); }
  std::uint64_t hbm_bytes() const {
    return static_cast<std::uint64_t>(machine.hbm.capacity_mib) << 20;
  }
};

class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::vector<Option> options() { return {}; }
  // What a --set key begins with: {"model.", "kernel."}. The machine's keys are the runner's.
  virtual std::vector<std::string> setting_prefixes() const { return {}; }

  // Called once, when options() have their values. Puts the tensors into hbm(). SimError for all
  // that can be known before the run: one line with the thing, its value and what is allowed.
  virtual void Prepare(const Setup& setup) = 0;
  virtual ops::Hbm& hbm() = 0;
  // Emits one core's program; sink.core() says which. Called for every core, and once more for the
  // dry run that finds refusals, so it changes nothing in the workload.
  virtual void Run(isa::Sink& sink) const = 0;
  // What to change when the buffers do not fit; appended to the message.
  virtual std::string WhatWouldFit(const Setup&) const { return ""; }
  // Instructions of all cores; 0: the runner's dry run counts them.
  virtual std::uint64_t instructions() const { return 0; }

  virtual Facts facts() const = 0;
  // After a run with data: the result. The checksum is over their bytes, in order. Before it, for
  // their names, when an option writes one.
  virtual std::vector<host::HostTensor> Outputs() = 0;
  // After Outputs(): the result against a reference that shares no code with the kernel.
  virtual Verdict Judge() = 0;
};

}  // namespace bwmm::workloads
