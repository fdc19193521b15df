// quantize_mx as Verilated rtl/mx/quantize_mx.sv: one column per edge in, one out.
#include <verilated.h>

#include <memory>

#include "VQuantizeMx.h"
#include "model/engine/make_engines.h"
#include "model/engine/quantize_mx_job.h"
#include "model/numerics/scale_group.h"

namespace bwmm::engine {
namespace {

class RtlQuantizeMx final : public QuantizeMxEngine {
 public:
  RtlQuantizeMx() : model_(std::make_unique<VQuantizeMx>(&context_)) {
    model_->rst_ni = 0;
    model_->eval();  // the clock must have been low for its first rise to count
    Tick();
    model_->rst_ni = 1;
  }

  ~RtlQuantizeMx() override { model_->final(); }

  QuantizeMxResult Run(const QuantizeMxJob& job) override {
    CheckQuantizeMxJob(job);
    QuantizeMxResult result;
    result.words.resize(std::size_t{1} * job.rows * job.columns);
    result.scales.resize(std::size_t{1} * kMxGroup.ScaleRows(job.rows) * job.columns);
    model_->source_fp16_i = job.source == DType::kFp16;
    model_->target_e5m2_i = job.target == DType::kFp8E5M2X4;
    model_->rule_ocp_i = job.rule == ScaleRule::kOcp;
    int out = 0;
    for (std::uint64_t edge = 0; out < job.columns; ++edge) {
      const bool in = edge < static_cast<std::uint64_t>(job.columns);
      model_->in_valid_i = in;
      if (in)
        DriveColumn(job, static_cast<int>(edge));
      if (model_->out_valid_o) {
        StoreColumn(job, out++, result);
        result.cycles = edge;
      }
      Tick();
    }
    return result;
  }

 private:
  void Tick() {
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
  }

  void DriveColumn(const QuantizeMxJob& job, int column) {
    for (int row = 0; row < job.rows; ++row) {
      for (int lane = 0; lane < kMxGroup.lanes; ++lane)
        model_->data_i[kMxGroup.lanes * row + lane] =
            job.data[(std::size_t{1} * row * job.columns + column) * kMxGroup.lanes + lane];
    }
  }

  void StoreColumn(const QuantizeMxJob& job, int column, QuantizeMxResult& result) const {
    for (int row = 0; row < job.rows; ++row)
      result.words[std::size_t{1} * row * job.columns + column] = model_->words_o[row];
    for (int group = 0; group < kMxGroup.ScaleRows(job.rows); ++group)
      result.scales[std::size_t{1} * group * job.columns + column] = model_->scales_o[group];
  }

  VerilatedContext context_;
  std::unique_ptr<VQuantizeMx> model_;
};

}  // namespace

std::unique_ptr<QuantizeMxEngine> MakeRtlQuantizeMx() {
  return std::make_unique<RtlQuantizeMx>();
}

}  // namespace bwmm::engine
