// The traced build of the RTL engine: tb/wave/traced_engine.sv and the only FST writer.
#include <fcntl.h>
#include <verilated_fst_c.h>

#include <algorithm>
#include <exception>

#include "VTracedEngine.h"
#include "model/engine/engine_trace.h"
#include "model/engine/fst_files.h"
#include "model/engine/merge_trace.h"
#include "model/engine/rtl_tensor_engine_impl.h"
#include "model/support/part_file.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {
namespace {

using Engine = RtlTensorEngine<VTracedEngine, 128, 128>;

class TracedEngine final : public Engine, public EngineTrace {
 public:
  TracedEngine(const TensorEngineConfig& config, const TraceOptions& options)
      : Engine(config, 0, true),
        options_(options),
        rtl_(options.path, "-rtl"),
        merged_(options.path) {
    rtl_.Close(rtl_.Create());  // the FST writer would not say why it cannot
    TakeFstError();
    model().probe_row_i = static_cast<std::uint8_t>(options.row);
    model().probe_col_i = static_cast<std::uint8_t>(options.col);
    model().trace(&file_, 99);
    file_.set_time_unit("ps");
    file_.set_time_resolution("ps");
    file_.open(rtl_.path().c_str());
    open_ = true;
  }

  ~TracedEngine() override {
    try {
      Close();
    } catch (const std::exception& error) {
      if (options_.failed)
        options_.failed(error.what());
    }
  }

  MachineStates& machine() override { return machine_; }

  void Close() override {
    if (!open_)
      return;
    open_ = false;
    file_.close();
    RequireWritten();
    const auto time_of = [this](Cycle cycle) {
      const double last = static_cast<double>(std::numeric_limits<std::int64_t>::max());
      return TimeOf(std::min(static_cast<double>(cycle), last / options_.cycle_ps / 2));
    };
    MergeTrace(rtl_.path(), machine_.Changes(time_of(options_.from), time_of(options_.to)),
               merged_.path());
    RequireWritten();
    merged_.Close(::open(merged_.path().c_str(), O_WRONLY | O_CLOEXEC));
    merged_.Commit();
  }

 private:
  std::uint64_t TimeOf(double cycles) const {
    return static_cast<std::uint64_t>(cycles * options_.cycle_ps + 0.5);
  }

  void RequireWritten() const {
    if (const int error = TakeFstError(); error != 0)
      merged_.Refuse(error);
  }

  void AfterClock(bool high) override {
    if (!open_ || cycle() < options_.from || cycle() >= options_.to)
      return;
    file_.dump(TimeOf(static_cast<double>(cycle()) + (high ? 0.0 : 0.5)));
    RequireWritten();
  }

  const TraceOptions options_;
  PartFile rtl_;
  PartFile merged_;
  VerilatedFstC file_;
  bool open_ = false;
  MachineStates machine_;
};

}  // namespace

TracedTensorEngine MakeTracedRtlTensorEngine(const TensorEngineConfig& config,
                                             const TraceOptions& options) {
  if (config.rows != 128 || config.cols != 128 || config.psum_words != 4096)
    throw SimError("wave: array is {}x{} with {} PSUM words, only 128x128 with 4096 is traced",
                   config.rows, config.cols, config.psum_words);
  if (options.row < 0 || options.row >= config.rows || options.col < 0 ||
      options.col >= config.cols)
    throw SimError("wave: probe is {},{}, allowed 0,0 to {},{}", options.row, options.col,
                   config.rows - 1, config.cols - 1);
  auto engine = std::make_unique<TracedEngine>(config, options);
  EngineTrace* trace = engine.get();
  return {.engine = std::move(engine), .trace = trace};
}

}  // namespace bwmm::engine
