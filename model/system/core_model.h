// One core: its memories, its TensorEngine and its units, wired.
//
//            issue ──┬── tensor unit ── engine::TensorEngine (PSUM)
//   kernel ──┘       ├── vector, scalar, gpsimd, sync          all read and write SBUF
//                    └── dma ── HBM socket
//
// Wiring only; behaviour is in model/units.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <systemc>

#include "model/engine/tensor_engine.h"
#include "model/ops/execute.h"
#include "model/ops/memory_check.h"
#include "model/ops/race_check.h"
#include "model/system/machine_config.h"
#include "model/units/dma_unit.h"
#include "model/units/in_order_engine.h"
#include "model/units/issue_stage.h"
#include "model/units/tensor_unit.h"

namespace bwmm {

// PSUM lives in the TensorEngine; the other engines reach it through its port. An array narrower
// than the port has fewer lanes.
class EnginePsum final : public ops::PsumPort {
 public:
  EnginePsum(engine::TensorEngine& engine, std::int64_t cols) : engine_(engine), cols_(cols) {}
  void Read(int word, std::span<std::uint32_t> lanes) const override {
    engine_.ReadPsum(word, lanes.first(cols_));
  }
  void Write(int word, std::span<const std::uint32_t> lanes) override {
    engine_.WritePsum(word, lanes.first(cols_));
  }

 private:
  engine::TensorEngine& engine_;
  std::size_t cols_;
};

// What all cores share.
struct SharedModel {
  const MachineConfig& config;
  const units::TimeBase& time;
  units::RunState& run;
  units::PhaseArbiter& arbiter;
  ops::Hbm& hbm;
  const ops::Observers& observers;
};

struct CoreOptions {
  int core = 0;
  bool control_only = false;
  bool checked = true;  // reads of unwritten bytes (not with control_only)
  ops::RaceChecker* races = nullptr;
  std::uint32_t window = 65536;
  ops::QuantizeFunction quantize;
  std::function<void(isa::Sink&)> kernel;
  std::function<void(const isa::Instruction&)> emitted;  // may refuse it
};

class CoreModel final : public sc_core::sc_module {
 public:
  CoreModel(sc_core::sc_module_name name, const SharedModel& shared, CoreOptions options,
            std::unique_ptr<engine::TensorEngine> engine);

  ops::CoreMemory& memory() { return memory_; }
  units::IssueStage& issue() { return issue_; }
  units::TensorUnit& tensor() { return tensor_; }
  units::InOrderEngine& gpsimd() { return gpsimd_; }
  units::DmaUnit& dma() { return dma_; }
  units::Ledger& ledger(units::Unit unit);

 private:
  units::IssueStage::Hooks Hooks(CoreOptions& options);
  void Observe(const isa::Instruction& instruction);

  const units::Tick tensor_period_;
  std::unique_ptr<engine::TensorEngine> engine_;
  EnginePsum psum_;
  ops::Sbuf sbuf_;
  ops::CoreMemory memory_;
  std::optional<ops::MemoryChecker> checker_;
  ops::RaceChecker* races_;
  units::IssueStage issue_;
  units::TensorUnit tensor_;
  units::InOrderEngine vector_;
  units::InOrderEngine scalar_;
  units::InOrderEngine gpsimd_;
  units::InOrderEngine sync_;
  units::DmaUnit dma_;
};

}  // namespace bwmm
