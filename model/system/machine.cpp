#include "model/system/machine.h"

#include <algorithm>
#include <systemc>
#include <utility>

#include "model/engine/make_engines.h"
#include "model/isa/meeting_order.h"
#include "model/ops/observers.h"
#include "model/ops/quantize_mx.h"
#include "model/ops/race_check.h"
#include "model/support/check.h"
#include "model/support/float_environment.h"
#include "model/support/sim_error.h"
#include "model/system/core_model.h"
#include "model/system/sim_context.h"
#include "model/system/wait_graph.h"
#include "model/units/exchange.h"
#include "model/units/hbm_target.h"

namespace bwmm {
namespace {

using units::Tick;

units::TimeBase TimeBaseOf(const MachineConfig& config) {
  const std::array<std::int64_t, 5> clocks = {config.clock.tensor_mhz, config.clock.vector_mhz,
                                              config.clock.scalar_mhz, config.clock.gpsimd_mhz,
                                              config.clock.sync_mhz};
  return units::TimeBase(clocks);
}

engine::TensorEngineConfig EngineConfigOf(const MachineConfig& config) {
  return {.rows = static_cast<int>(config.tensor.rows),
          .cols = static_cast<int>(config.tensor.cols),
          .psum_words = static_cast<int>(config.psum.banks * config.psum.bank_bytes / 4),
          .min_interval = static_cast<int>(config.tensor.min_interval)};
}

std::unique_ptr<engine::TensorEngine> MakeEngine(Fidelity fidelity,
                                                 const engine::TensorEngineConfig& config) {
  switch (fidelity) {
    case Fidelity::kRtl:
      return engine::MakeRtlTensorEngine(config);
    case Fidelity::kFast:
      return engine::MakeFastTensorEngine(config);
    case Fidelity::kTiming:
      break;
  }
  return engine::MakeTimingTensorEngine(config);
}

// The Verilated quantize_mx, whose cycles must be the cost table's.
ops::QuantizeFunction RtlQuantize(const MachineConfig& config) {
  std::shared_ptr<engine::QuantizeMxEngine> unit = engine::MakeRtlQuantizeMx();
  const units::CostTable costs{.quantize_pipeline_cycles = config.quantize_mx.pipeline_cycles};
  return [unit, costs](DType source, DType target, ScaleRule rule, const std::uint16_t* data,
                       int rows, int columns, std::uint32_t* words, std::uint8_t* scales) {
    const std::size_t elements = std::size_t{4} * rows * columns;
    const auto result = unit->Run({source, target, rule, rows, columns, {data, data + elements}});
    const auto cycles = static_cast<std::uint64_t>(units::QuantizeMxCycles(columns, costs));
    if (result.cycles != cycles)
      throw SimError(
          "quantize_mx: the RTL took {} cycles for {} columns, the cost table says {} "
          "(machine.quantize_mx.pipeline_cycles)",
          result.cycles, columns, cycles);
    std::copy(result.words.begin(), result.words.end(), words);
    std::copy(result.scales.begin(), result.scales.end(), scales);
  };
}

class Machine {
 public:
  Machine(const MachineConfig& config, Fidelity fidelity, ops::Hbm& hbm, const ops::Program& kernel,
          const RunOptions& options)
      : config_(config),
        options_(options),
        observers_(options.observers),
        time_(TimeBaseOf(config)),
        period_(time_.ClockOf(config.clock.tensor_mhz).period),
        arbiter_("arbiter", run_),
        hbm_("hbm",
             {.cores = static_cast<int>(config.cores),
              .bandwidth_mb_s = config.hbm.bandwidth_mb_s,
              .capacity_bytes = static_cast<std::uint64_t>(config.hbm.capacity_mib) << 20},
             time_),
        meetings_(static_cast<int>(config.cores)) {
    if (options.checked)
      races_.emplace(static_cast<int>(config.cores), hbm);
    observers_.Begin({.cores = static_cast<int>(config.cores),
                      .clock = {.ticks_per_us = time_.ticks_per_us(), .ticks_per_cycle = period_}});
    const SharedModel shared{config_, time_, run_, arbiter_, hbm, observers_};
    const int cores = static_cast<int>(config.cores);
    cores_.resize(cores);
    for (int i = 0; i < cores; ++i) {
      const int core = options.build_in_reverse ? cores - 1 - i : i;
      cores_[core] = MakeCore(core, fidelity, shared, kernel);
      if (observers_.Want(ops::Event::kSpent))
        ObserveTime(core);
    }
    std::vector<ops::CoreMemory*> memories;
    for (const auto& core : cores_)
      memories.push_back(&core->memory());
    exchange_ = std::make_unique<units::Exchange>(
        "exchange",
        units::Exchange::Config{.cores = static_cast<int>(config.cores),
                                .barrier = time_.FromNs(config.link.barrier_ns),
                                .sendrecv = time_.FromNs(config.link.sendrecv_ns)},
        run_, memories, observers_);
    for (int core = 0; core < config.cores; ++core) {
      cores_[core]->gpsimd().meeting(*exchange_);
      cores_[core]->dma().meeting(*exchange_);
      exchange_->gpsimd[core](cores_[core]->gpsimd());
      exchange_->dma[core](cores_[core]->dma());
      cores_[core]->dma().hbm_socket.bind(hbm_.socket(core));
    }
  }

  RunResult Run(SimContext& context) {
    context.Run();
    if (!run_.error() && !AllDone()) {
      ReportDeadlock();
      context.Run();  // unwinds waiting kernels
    }
    if (run_.error())
      std::rethrow_exception(run_.error());
    return Result();
  }

 private:
  std::unique_ptr<CoreModel> MakeCore(int core, Fidelity fidelity, const SharedModel& shared,
                                      const ops::Program& kernel) {
    CoreOptions options;
    options.core = core;
    options.control_only = fidelity == Fidelity::kTiming;
    options.checked = options_.checked;
    options.races = races_ ? &*races_ : nullptr;
    options.window = options_.window;
    options.kernel = kernel;
    options.quantize = fidelity == Fidelity::kRtl && config_.generation >= 4
                           ? RtlQuantize(config_)
                           : ops::QuantizeFunction(ops::QuantizeMx);
    options.emitted = [this](const isa::Instruction& instruction) { meetings_.Add(instruction); };
    const engine::TensorEngineConfig engine = EngineConfigOf(config_);
    return std::make_unique<CoreModel>(
        fmt::format("core{}", core).c_str(), shared, std::move(options),
        options_.make_engine ? options_.make_engine(core, engine) : MakeEngine(fidelity, engine));
  }

  void ObserveTime(int core) {
    for (int u = 0; u < units::kUnits; ++u) {
      const auto unit = static_cast<Unit>(u);
      cores_[core]->ledger(unit).Observe(
          [this, core, unit](Tick from, Tick to, TimeClass time_class) {
            observers_.Tell(ops::Event::kSpent, [&](ops::Observer& observer) {
              observer.Spent({core, unit, time_class, from, to});
            });
          });
    }
  }

  bool AllDone() const {
    return std::all_of(cores_.begin(), cores_.end(),
                       [](const auto& core) { return core->issue().done(); });
  }

  void ReportDeadlock() {
    std::vector<CoreModel*> cores;
    for (const auto& core : cores_)
      cores.push_back(core.get());
    const std::optional<std::string> alone = meetings_.Alone();
    run_.Fail(std::make_exception_ptr(SimError(
        "{}deadlock at cycle {}: nothing can happen any more and work is left{}",
        alone ? *alone + "; " : "", units::Now() / period_, WaitGraph(cores, *exchange_))));
  }

  RunResult Result() {
    RunResult result;
    Tick end = 0;
    for (const auto& core : cores_)
      end = std::max(end, core->issue().last_completion());
    result.cycles = (end + period_ - 1) / period_;
    result.seconds_modelled = time_.Seconds(end);
    for (const auto& core : cores_) {
      result.cores.push_back(ResultOf(*core, result.cycles));
      const CoreResult& last = result.cores.back();
      result.instructions += last.instructions;
      result.sendrecv += last.sendrecv;
    }
    result.hbm_read = hbm_.stats().read_bytes;
    result.hbm_write = hbm_.stats().write_bytes;
    result.hbm_busy_cycles = hbm_.busy() / period_;
    std::uint64_t read = 0, written = 0;
    for (const CoreResult& core : result.cores) {
      read += core.hbm_read;
      written += core.hbm_write;
    }
    Check(read == result.hbm_read && written == result.hbm_write,
          "every byte a DMA planned went through the HBM target");
    return result;
  }

  CoreResult ResultOf(CoreModel& core, std::uint64_t cycles) {
    CoreResult result;
    const auto& issue = core.issue().stats();
    result.instructions = issue.emitted;
    for (int unit = 0; unit < units::kUnits; ++unit) {
      result.units[unit].instructions = issue.per_unit[unit];
      units::Ledger& ledger = core.ledger(static_cast<Unit>(unit));
      Check(ledger.until() <= cycles * period_, "no unit is busy after the last completion");
      ledger.Until(cycles * period_, TimeClass::kIdle);
      // Classes are rounded together, so that they still sum to the total.
      Tick ticks = 0;
      std::uint64_t before = 0;
      for (int c = 0; c < units::kTimeClasses; ++c) {
        ticks += ledger.ticks(static_cast<TimeClass>(c));
        result.units[unit].cycles[c] = ticks / period_ - before;
        before = ticks / period_;
      }
      Check(before == cycles, "the classes of a unit's time sum to the total");
    }
    result.moving_rows = core.tensor().stats().moving_rows;
    result.multiply_adds = core.tensor().stats().multiply_adds;
    const auto& dma = core.dma().stats();
    result.hbm_read = dma.hbm_read;
    result.hbm_write = dma.hbm_write;
    result.sendrecv = dma.sendrecv;
    result.dma_descriptors = dma.descriptors;
    result.dma_transfers = dma.transfers;
    result.dma_engine_cycles = dma.engine_ticks / period_;
    return result;
  }

  const MachineConfig config_;
  const RunOptions& options_;
  const ops::Observers observers_;
  const units::TimeBase time_;
  const Tick period_;
  units::RunState run_;
  units::PhaseArbiter arbiter_;
  units::HbmTarget hbm_;
  isa::MeetingOrder meetings_;
  std::optional<ops::RaceChecker> races_;
  std::vector<std::unique_ptr<CoreModel>> cores_;
  std::unique_ptr<units::Exchange> exchange_;
};

}  // namespace

std::string_view NameOf(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::kRtl:
      return "rtl";
    case Fidelity::kFast:
      return "fast";
    case Fidelity::kTiming:
      return "timing";
  }
  return "?";
}

std::optional<Fidelity> ParseFidelity(std::string_view name) {
  for (const Fidelity fidelity : {Fidelity::kRtl, Fidelity::kFast, Fidelity::kTiming}) {
    if (name == NameOf(fidelity))
      return fidelity;
  }
  return std::nullopt;
}

RunResult RunMachine(const MachineConfig& config, Fidelity fidelity, ops::Hbm& hbm,
                     const ops::Program& kernel, const RunOptions& options) {
  CheckFloatEnvironment();
  ValidateMachine(config);
  SimContext context;
  Machine machine(config, fidelity, hbm, kernel, options);
  return machine.Run(context);
}

}  // namespace bwmm
