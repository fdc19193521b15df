// The issue stage of core 1 alone: fake units log what reaches them, and a script completes
// instructions. A completion is seen by other units 60 ticks later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/units/issue_stage.h"
#include "tests/units/unit_harness.h"

namespace bwmm::units {

inline constexpr Tick kSemaphore = 60;

class FakeUnit final : public WorkIf {
 public:
  FakeUnit(Log& log, std::map<std::uint32_t, Work*>& works, std::string name)
      : log_(log), works_(works), name_(std::move(name)) {}
  void Accept(Work& work) override {
    works_[work.instruction.id] = &work;
    log_.Add(name_, work.instruction.id);
  }
  // The gate's time may lie ahead.
  void GateOpened(Work& work, Gate gate) override {
    log_.Add(name_ + (gate == Gate::kStart ? " start gate" : " data gate"), work.instruction.id);
  }

 private:
  Log& log_;
  std::map<std::uint32_t, Work*>& works_;
  std::string name_;
};

class IssueStageTest : public UnitTest {
 protected:
  void Build(std::function<void(isa::Sink&)> kernel, std::uint32_t window = 65536) {
    stage = std::make_unique<IssueStage>(
        "issue",
        IssueStage::Config{.core = 1, .limits = {}, .semaphore = kSemaphore, .window = window}, run,
        memory, std::move(kernel), IssueStage::Hooks{}, observers);
    stage->tensor(tensor);
    stage->vector(vector);
    stage->scalar(scalar);
    stage->gpsimd(gpsimd);
    stage->sync(sync);
    stage->dma(dma);
  }
  void Complete(Tick tick, std::uint32_t id) {
    script.At(tick, [this, id] { stage->Complete(*works.at(id)); });
  }
  const GateState& GateOf(std::uint32_t id, Gate gate = Gate::kStart) {
    return works.at(id)->gate(gate);
  }

  // fp32 rows of SBUF: `n` columns from `at`.
  static Operand Tile(std::uint64_t at, std::int64_t n = 16) {
    return SbufTile(DType::kFp32, at, 32, n);
  }
  static isa::Memset Write(std::uint64_t at) { return {.dst = Tile(at), .value = 1.0f}; }
  static isa::TensorCopy Copy(std::uint64_t to, std::uint64_t from) {
    return {.dst = Tile(to), .src = Tile(from)};
  }
  static isa::DmaCopy DmaWithin(std::uint64_t to, std::uint64_t from) {
    return {.dst = Tile(to), .src = Tile(from)};
  }
  isa::DmaCopy Gather(const Operand& dst, const Operand& index) {
    ops::HbmTensor& table = hbm.Allocate("table", DType::kFp32, {64, 16}, true);
    isa::DmaCopy copy{.dst = dst, .src = test::Rows(table, 0, 32)};
    copy.gather = isa::VectorOffset{.index = index, .rows = 64, .row_stride = 16};
    return copy;
  }
  // 32 rows of HBM that both cores know.
  static Operand Shared() {
    Operand operand = test::Tile(Memory::kHbm, DType::kFp32, 64, 32, 16);
    operand.partition_stride = 16;
    return operand;
  }
  static constexpr std::uint64_t kA = 0, kB = 1024, kC = 2048;

  const ops::Observers observers;
  std::map<std::uint32_t, Work*> works;
  FakeUnit tensor{log, works, "tensor"}, vector{log, works, "vector"};
  FakeUnit scalar{log, works, "scalar"}, gpsimd{log, works, "gpsimd"};
  FakeUnit sync{log, works, "sync"}, dma{log, works, "dma"};
  std::unique_ptr<IssueStage> stage;
};

}  // namespace bwmm::units
