// --wave: core 0's TensorEngine with its probe in an FST dump.
#pragma once

#include <memory>
#include <string>

#include "cli/run_options.h"
#include "model/engine/engine_trace.h"

namespace bwmm::cli {

// What core 0's units do goes into the dump of its engine.
class WaveDump final : public ops::Observer {
 public:
  // From here on `run` dumps. SimError for a probe or window that is not one, and when the dump
  // cannot be begun.
  WaveDump(const CommonOptions& options, const MachineConfig& machine, RunOptions& run);

  // After the run: SimError when it could not finish the dump.
  void Check() const;

  bool Wants(ops::Event event) const override {
    return event == ops::Event::kStarted || event == ops::Event::kSpent;
  }
  void Began(const ops::Beginning& beginning) override { clock_ = beginning.clock; }
  void Started(const ops::Start& start) override;
  void DescriptorsStarted(const ops::Start& start) override { Started(start); }
  void Spent(const ops::Spending& spending) override;

 private:
  std::uint64_t Picoseconds(ops::Ticks ticks) const;

  ops::RunClock clock_;
  // The trace lives in core 0's engine, which the machine owns while it runs.
  engine::EngineTrace* dump_ = nullptr;
  std::string failure_;
};

}  // namespace bwmm::cli
