// The workload moe_cte: one Mixture-of-Experts prefill layer.
#include <fmt/format.h>

#include <optional>

#include "host/tensor_file.h"
#include "model/support/sim_error.h"
#include "workloads/moe_cte/judge_layer.h"
#include "workloads/moe_cte/layer_options.h"
#include "workloads/registry.h"

namespace bwmm::workloads {
namespace {

class MoeCteWorkload final : public Workload {
 public:
  std::vector<Option> options() override {
    return {
        {"--model", "a model preset (bwmm list models)", &request_.model},
        InputFile("--config", "a TOML file with the same keys as a preset", request_.config),
        {"--variant",
         "name or number (bwmm list variants); default: shard_on_i_mx, or the first that fits the "
         "model",
         &request_.variant},
        Count("--tokens", "tokens of the layer", request_.tokens),
        Count("--block-size", "rows of a block", request_.block_size),
        InputFile("--routing", "CSV file: token,slot,expert,weight", request_.routing),
        {"--check", "double-precision reference: auto, on, worst_case, off", &request_.check},
        OutputTensor("--output", "write the result (.npy, .safetensors)", request_.output,
                     "output"),
    };
  }
  std::vector<std::string> setting_prefixes() const override { return {"model.", "kernel."}; }

  void Prepare(const Setup& setup) override {
    check_ = CheckModeOf(request_.check);
    if (!setup.with_data && (check_ == CheckMode::kOn || check_ == CheckMode::kWorstCase))
      throw SimError("--check {}: timing has no tensor data, allowed auto, off", request_.check);
    options_ = LayerOptionsOf(request_, setup);
    setup.reads({"model.weights_file", options_.model.weights_file});
    setup.reads({"model.hidden_file", options_.model.hidden_file});
    job_.emplace(options_, setup.limits(), setup.hbm_bytes(), setup.with_data);
  }

  ops::Hbm& hbm() override { return job_->hbm(); }
  void Run(isa::Sink& sink) const override { job_->Run(sink); }
  std::uint64_t instructions() const override { return job_->instructions(); }
  Facts facts() const override;
  std::vector<host::HostTensor> Outputs() override { return {job_->Output()}; }
  Verdict Judge() override { return JudgeLayer(check_, *job_); }

 private:
  LayerRequest request_;
  CheckMode check_ = CheckMode::kAuto;
  LayerJobOptions options_;
  std::optional<LayerJob> job_;
};

Facts MoeCteWorkload::facts() const {
  const auto& shape = job_->shape();
  const auto& layout = job_->layout();
  const host::LayerConfig& model = options_.model;
  const std::string variant(NameOf(options_.variant));
  Facts facts;
  facts.variant = variant;
  facts.model = model.name;
  facts.tokens = options_.tokens;
  facts.rows = {
      {"layer", fmt::format("{}: H {}, I {}, E {}, top-{}, {} weights ({:.1f} MiB)", model.name,
                            shape.hidden, shape.intermediate, model.experts, model.top_k,
                            host::NameOf(job_->weights()),
                            static_cast<double>(job_->weight_bytes()) / (1 << 20))},
      {"padding",
       fmt::format(
           "H {} and I {} on the machine, {:.1f}% of a row's work; {} of {} rows hold a token",
           shape.hidden_padded, shape.intermediate_padded, 100 * shape.padding_fraction(),
           job_->rows(), std::int64_t{layout.blocks} * layout.block_size)},
      {"blocks", fmt::format("{} of {} rows, {} live; {} tokens, routing {}", layout.blocks,
                             layout.block_size, layout.live_blocks, options_.tokens,
                             request_.routing.empty() ? fmt::format("seeded ({})", options_.seed)
                                                      : request_.routing)},
      {"variant", variant}};
  facts.useful_multiply_adds = job_->UsefulWork();
  facts.blocks = BlockReport{.blocks = layout.blocks,
                             .live_blocks = layout.live_blocks,
                             .block_size = layout.block_size,
                             .rows = job_->rows()};
  if (!request_.routing.empty())
    facts.routing = request_.routing;
  if (options_.variant == kernels::MoECTEImplementation::shard_on_i_dropping) {
    facts.blocks->dropped_rows = layout.dropped_rows;
    facts.rows.emplace_back("dropped",
                            fmt::format("{} of {} rows, over the capacity of their expert",
                                        layout.dropped_rows, job_->rows() + layout.dropped_rows));
  }
  return facts;
}

const Registration kRegistered({.name = kDefaultWorkload,
                                .help = "one MoE layer",
                                .make = Make<MoeCteWorkload>});

}  // namespace
}  // namespace bwmm::workloads
