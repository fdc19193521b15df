// The traced build of the RTL engine: tb/wave/traced_engine.sv and the only FST writer.
#include <verilated_fst_c.h>

#include <array>
#include <cstring>
#include <deque>
#include <fstream>

#include "VTracedEngine.h"
#include "model/engine/engine_trace.h"
#include "model/engine/rtl_tensor_engine_impl.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {
namespace {

using Engine = RtlTensorEngine<VTracedEngine, 128, 128>;

class TracedEngine final : public Engine, public EngineTrace {
 public:
  TracedEngine(const TensorEngineConfig& config, const TraceOptions& options)
      : Engine(config, 0, true), options_(options) {
    model().probe_row_i = static_cast<std::uint8_t>(options.row);
    model().probe_col_i = static_cast<std::uint8_t>(options.col);
    model().trace(&file_, 99);
    file_.set_time_unit("ps");
    file_.set_time_resolution("ps");
    file_.open(options.path.c_str());
    open_ = true;
  }

  ~TracedEngine() override { Close(); }

  void SetMachineState(std::uint64_t time_ps, TracedUnit unit, std::uint32_t id,
                       std::string_view opcode, std::string_view stall) override {
    if (!open_)
      return;
    const Change change = {time_ps, unit, id, TextOf(opcode), TextOf(stall)};
    const auto later = std::upper_bound(
        changes_.begin(), changes_.end(), time_ps,
        [](std::uint64_t time, const Change& other) { return time < other.time_ps; });
    changes_.insert(later, change);
  }

  void Close() override {
    if (!open_)
      return;
    ApplyChangesUntil(std::numeric_limits<std::uint64_t>::max());
    file_.close();
    open_ = false;
  }

 private:
  static constexpr int kTextWords = 4;
  using Text = std::array<std::uint32_t, kTextWords>;

  struct Change {
    std::uint64_t time_ps;
    TracedUnit unit;
    std::uint32_t id;
    Text opcode;
    Text stall;
  };

  // First character in the top byte, zeros below: how a waveform viewer reads ASCII.
  static Text TextOf(std::string_view text) {
    std::array<char, 4 * kTextWords> reversed{};
    for (std::size_t i = 0; i < std::min(text.size(), reversed.size()); ++i)
      reversed[reversed.size() - 1 - i] = text[i];
    Text words;
    std::memcpy(words.data(), reversed.data(), reversed.size());
    return words;
  }

  void AfterClock(bool high) override {
    if (!open_)
      return;
    const double edges = static_cast<double>(cycle()) + (high ? 0.0 : 0.5);
    const auto time = static_cast<std::uint64_t>(edges * options_.cycle_ps);
    ApplyChangesUntil(time);
    Dump(time);
  }

  void ApplyChangesUntil(std::uint64_t time_ps) {
    while (!changes_.empty() && changes_.front().time_ps <= time_ps) {
      const Change& change = changes_.front();
      const auto unit = static_cast<std::size_t>(change.unit);
      model().machine_id_i[unit] = change.id;
      for (int word = 0; word < kTextWords; ++word) {
        model().machine_opcode_i[unit][word] = change.opcode[word];
        model().machine_stall_i[unit][word] = change.stall[word];
      }
      const std::uint64_t time = change.time_ps;
      changes_.pop_front();
      model().eval();
      Dump(time);
    }
  }

  void Dump(std::uint64_t time_ps) {
    const double cycle = static_cast<double>(time_ps) / options_.cycle_ps;
    if (cycle < static_cast<double>(options_.from) || cycle >= static_cast<double>(options_.to))
      return;
    // The file wants ascending times; what comes late shows one picosecond after the last.
    dumped_ps_ = dumped_ps_ < time_ps || !dumped_any_ ? time_ps : dumped_ps_ + 1;
    dumped_any_ = true;
    file_.dump(dumped_ps_);
  }

  const TraceOptions options_;
  VerilatedFstC file_;
  bool open_ = false;
  bool dumped_any_ = false;
  std::uint64_t dumped_ps_ = 0;
  std::deque<Change> changes_;  // ascending time
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
  if (!std::ofstream(options.path))
    throw SimError("wave: {} cannot be written", options.path);
  auto engine = std::make_unique<TracedEngine>(config, options);
  EngineTrace* trace = engine.get();
  return {.engine = std::move(engine), .trace = trace};
}

}  // namespace bwmm::engine
