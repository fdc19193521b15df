#include "model/system/core_model.h"

#include <fmt/format.h>

#include <utility>

namespace bwmm {
namespace {

using units::InOrderEngine;
using units::TimeBase;
using units::Unit;

units::CostTable CostsOf(const MachineConfig& c) {
  return {.min_interval = c.compute.min_interval,
          .vector_latency_cycles = c.compute.vector_latency_cycles,
          .scalar_latency_cycles = c.compute.scalar_latency_cycles,
          .access_cycles = c.compute.access_cycles,
          .gpsimd_fixed = c.compute.gpsimd_fixed,
          .vector_perf_modes = c.compute.vector_perf_modes != 0,
          .fp8_modes = c.compute.fp8_modes != 0,
          .scalar_2x = c.compute.scalar_2x != 0,
          .quantize_pipeline_cycles = c.quantize_mx.pipeline_cycles,
          .register_load_cycles = c.sync.register_load_cycles,
          .descriptors_fixed_cycles = c.dma.swdge_fixed_cycles,
          .descriptor_cycles = c.dma.swdge_descriptor_cycles};
}

InOrderEngine::Config EngineConfig(Unit unit, std::int64_t mhz, const SharedModel& shared) {
  const MachineConfig& c = shared.config;
  return {.unit = unit,
          .clock = shared.time.ClockOf(mhz),
          .costs = CostsOf(c),
          .activation_table =
              unit == Unit::kScalar ? shared.time.FromNs(c.compute.activation_table_ns) : 0,
          .hbm_register_load =
              shared.time.FromNs(c.dma.start_ns + c.hbm.latency_ns + c.dma.completion_ns)};
}

units::DmaUnit::Config DmaConfig(int core, const SharedModel& shared) {
  const MachineConfig& c = shared.config;
  return {.core = core,
          .shape = {.engines = static_cast<int>(c.dma.engines),
                    .partitions = static_cast<int>(c.sbuf.partitions),
                    .compute_percent = c.dma.compute_percent},
          .engine_mb_s = c.dma.engine_mb_s,
          .descriptor_bytes = c.dma.descriptor_bytes,
          .queues = static_cast<int>(c.dma.queues),
          .turn_bytes = c.dma.turn_bytes,
          .gather_class = static_cast<int>(c.dma.gather_class),
          .dge_instances = static_cast<int>(c.dma.dge_instances),
          .dge = shared.time.FromNs(c.dma.dge_ns),
          .start = shared.time.FromNs(c.dma.start_ns),
          .skew_ns = c.dma.skew_ns,
          .hbm_latency = shared.time.FromNs(c.hbm.latency_ns),
          .completion = shared.time.FromNs(c.dma.completion_ns)};
}

units::IssueStage::Config IssueConfig(const CoreOptions& options, const SharedModel& shared) {
  return {.core = options.core,
          .limits = LimitsOf(shared.config),
          .semaphore = shared.time.FromNs(shared.config.sync.semaphore_ns),
          .window = options.window};
}

}  // namespace

CoreModel::CoreModel(sc_core::sc_module_name name, const SharedModel& shared, CoreOptions options,
                     std::unique_ptr<engine::TensorEngine> engine)
    : sc_module(name),
      tensor_period_(shared.time.ClockOf(shared.config.clock.tensor_mhz).period),
      engine_(std::move(engine)),
      psum_(*engine_, shared.config.tensor.cols),
      sbuf_(static_cast<int>(shared.config.sbuf.partitions), LimitsOf(shared.config).sbuf_bytes),
      memory_{.core = options.core,
              .sbuf = sbuf_,
              .psum = psum_,
              .hbm = shared.hbm,
              .quantize = options.quantize,
              .control_only = options.control_only},
      races_(options.races),
      issue_("issue", IssueConfig(options, shared), shared.run, memory_, options.kernel,
             Hooks(options), shared.observers),
      tensor_("tensor",
              {.clock = shared.time.ClockOf(shared.config.clock.tensor_mhz),
               .throttle_window = shared.time.FromNs(shared.config.tensor.throttle_ns)},
              shared.run, memory_, *engine_),
      vector_("vector", EngineConfig(Unit::kVector, shared.config.clock.vector_mhz, shared),
              shared.run, memory_),
      scalar_("scalar", EngineConfig(Unit::kScalar, shared.config.clock.scalar_mhz, shared),
              shared.run, memory_),
      gpsimd_("gpsimd", EngineConfig(Unit::kGpSimd, shared.config.clock.gpsimd_mhz, shared),
              shared.run, memory_),
      sync_("sync", EngineConfig(Unit::kSync, shared.config.clock.sync_mhz, shared), shared.run,
            memory_),
      dma_("dma", DmaConfig(options.core, shared), shared.time, shared.run, shared.arbiter,
           memory_) {
  if (options.checked && !options.control_only)
    checker_.emplace(LimitsOf(shared.config), memory_);
  issue_.tensor(tensor_);
  issue_.vector(vector_);
  issue_.scalar(scalar_);
  issue_.gpsimd(gpsimd_);
  issue_.sync(sync_);
  issue_.dma(dma_);
  tensor_.retire(issue_);
  for (InOrderEngine* engine : {&vector_, &scalar_, &gpsimd_, &sync_})
    engine->retire(issue_);
  dma_.retire(issue_);
  gpsimd_.descriptors(dma_);
}

units::IssueStage::Hooks CoreModel::Hooks(CoreOptions& options) {
  const int core = options.core;
  return {.emitted =
              [this, emitted = std::move(options.emitted)](const isa::Instruction& instruction,
                                                           std::vector<isa::Access> accesses) {
                if (emitted)
                  emitted(instruction);
                if (races_ != nullptr)
                  races_->Emitted(instruction, std::move(accesses));
              },
          .register_read =
              [this, core](std::uint32_t id) {
                if (races_ != nullptr)
                  races_->RegisterRead(core, id);
              },
          .allocated =
              [this](isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                     const std::string& name) {
                if (checker_)
                  checker_->Allocated(memory, begin, bytes, name);
              },
          .freed =
              [this](isa::Memory memory, std::uint64_t begin, std::uint32_t position) {
                if (checker_)
                  checker_->Freed(memory, begin, position);
              },
          .observed = [this](const isa::Instruction& instruction) { Observe(instruction); }};
}

void CoreModel::Observe(const isa::Instruction& instruction) {
  // What came too early or too late for a missing barrier is a race before it is anything else.
  if (races_ != nullptr)
    races_->Observe(instruction, memory_);
  if (checker_)
    checker_->Observe(instruction, fmt::format("at cycle {}", units::Now() / tensor_period_));
}

units::Ledger& CoreModel::ledger(units::Unit unit) {
  switch (unit) {
    case Unit::kTensor:
      return tensor_.ledger();
    case Unit::kVector:
      return vector_.ledger();
    case Unit::kScalar:
      return scalar_.ledger();
    case Unit::kGpSimd:
      return gpsimd_.ledger();
    case Unit::kSync:
      return sync_.ledger();
    case Unit::kDma:
      break;
  }
  return dma_.ledger();
}

}  // namespace bwmm
