// How far a run is, every few tenths of a second of wall time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "model/ops/observer.h"

namespace bwmm {

struct Progress {
  std::uint64_t cycle = 0;
  std::uint64_t instructions_emitted = 0;
  std::uint64_t instructions_done = 0;
  double khz = 0;  // simulated TensorEngine cycles per wall millisecond
};

class ProgressMeter final : public ops::Observer {
 public:
  explicit ProgressMeter(std::function<void(const Progress&)> report, double seconds = 0.2)
      : report_(std::move(report)), seconds_(seconds) {}

  bool Wants(ops::Event event) const override {
    return event == ops::Event::kEmitted || event == ops::Event::kCompleted;
  }
  void Began(const ops::Beginning& beginning) override { clock_ = beginning.clock; }
  void Emitted(const ops::Emission&) override { ++now_.instructions_emitted; }
  void Completed(const ops::Completion& completion) override;

 private:
  std::function<void(const Progress&)> report_;
  double seconds_;  // between two reports
  ops::RunClock clock_;
  Progress now_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace bwmm
