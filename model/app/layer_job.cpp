#include "model/app/layer_job.h"

#include <cstring>
#include <utility>

#include "kernels/moe_cte/reference_problem.h"
#include "model/isa/validate.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::app {
namespace {

using kernels::AffinityScalingMode;

// The variant decides the family of weight types, the model the member; a bf16 model on an MX
// variant is quantised to MXFP8.
inputs::WeightLayout WeightsFor(const LayerJobOptions& options) {
  if (!kernels::IsMx(options.variant))
    return inputs::WeightLayout::kBf16;
  return IsMx(options.model.weights) ? options.model.weights : inputs::WeightLayout::kMxfp8E4M3;
}

AffinityScalingMode ModeOf(inputs::AffinityScaling scaling) {
  switch (scaling) {
    case inputs::AffinityScaling::kNoScale:
      return AffinityScalingMode::kNoScale;
    case inputs::AffinityScaling::kPreScale:
      return AffinityScalingMode::kPreScale;
    case inputs::AffinityScaling::kPostScale:
      return AffinityScalingMode::kPostScale;
    case inputs::AffinityScaling::kPreScaleDelayed:
      break;
  }
  throw SimError(
      "model.affinity_scaling: pre_scale_delayed, allowed no_scale, post_scale, pre_scale");
}

// Takes instructions and forgets them: allocations and refusals show, nothing runs.
class DryRunSink final : public isa::Sink {
 public:
  DryRunSink(int core, const isa::Limits& limits) : core_(core), limits_(limits) {}
  int core() const override { return core_; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(isa::Engine engine, isa::Body body) override {
    isa::Validate({.id = count_, .core = core_, .engine = engine, .body = std::move(body)},
                  limits_);
    return count_++;
  }
  std::int32_t RegisterValue(std::uint32_t) override { return 0; }
  std::uint32_t count() const { return count_; }

 private:
  int core_;
  const isa::Limits& limits_;
  std::uint32_t count_ = 0;
};

inputs::Routing RoutingOf(const LayerJobOptions& options) {
  if (options.tokens < 1)
    throw SimError("tokens: {}, allowed 1 or more", options.tokens);
  const inputs::LayerConfig& model = options.model;
  return options.routing_csv.empty()
             ? inputs::GenerateRouting(model.RoutingFor(options.tokens, options.seed))
             : inputs::LoadRoutingCsv(options.routing_csv, options.tokens, model.experts,
                                      model.top_k);
}

}  // namespace

LayerJob::LayerJob(const LayerJobOptions& options, const isa::Limits& limits,
                   std::uint64_t hbm_bytes, bool with_data)
    : options_(options),
      routing_(RoutingOf(options)),
      layout_(inputs::BuildBlockLayout(routing_, {.block_size = options.block_size})),
      tensors_(
          inputs::BuildLayer(options.model, routing_, WeightsFor(options), options.seed, false)),
      token_position_to_id_(layout_.TokenPositionToId()),
      block_to_expert_(layout_.BlockToExpert()),
      hbm_(hbm_bytes) {
  PlaceTensors(false);
  DryRun(limits);
  if (!with_data)
    return;
  tensors_ = inputs::BuildLayer(options.model, routing_, WeightsFor(options), options.seed, true);
  hbm_ = ops::Hbm(hbm_bytes);
  placed_.clear();
  PlaceTensors(true);
}

lang::HbmTensor LayerJob::Place(inputs::HostTensor& tensor, bool with_data) {
  ops::HbmTensor& placed = hbm_.Allocate(tensor.name, tensor.dtype, tensor.shape, false);
  // The bytes move to HBM for the run; Compare moves them back for the reference.
  if (with_data)
    placed.data = std::move(tensor.data);
  placed_.push_back({&tensor, &placed});
  return {tensor.name, tensor.dtype, tensor.shape, placed.address};
}

void LayerJob::PlaceTensors(bool with_data) {
  const inputs::LayerConfig& model = options_.model;
  const auto optional = [&](std::optional<inputs::HostTensor>& tensor) {
    return tensor ? std::optional(Place(*tensor, with_data)) : std::nullopt;
  };
  args_.hidden_states = Place(tensors_.hidden, with_data);
  args_.expert_affinities_masked = Place(tensors_.affinities, with_data);
  args_.gate_up_proj_weight = Place(tensors_.gate_up_weight, with_data);
  args_.down_proj_weight = Place(tensors_.down_weight, with_data);
  args_.gate_up_proj_scale = optional(tensors_.gate_up_scale);
  args_.down_proj_scale = optional(tensors_.down_scale);
  args_.gate_and_up_bias = optional(tensors_.gate_up_bias);
  args_.down_bias = optional(tensors_.down_bias);

  // Control tensors have data at every fidelity, and stay with the job.
  const auto control = [&](const inputs::HostTensor& tensor) {
    ops::HbmTensor& placed = hbm_.Allocate(tensor.name, DType::kInt32, {tensor.elements()}, false);
    placed.data = tensor.data;
    return lang::HbmTensor{tensor.name, DType::kInt32, {tensor.elements()}, placed.address};
  };
  args_.token_position_to_id = control(token_position_to_id_);
  args_.block_to_expert = control(block_to_expert_);

  std::vector<std::int64_t> shape = {options_.tokens + 1, tensors_.shape.hidden_padded};
  if (options_.variant == kernels::MoECTEImplementation::shard_on_block)
    shape.insert(shape.begin() + 1, 2);
  ops::HbmTensor& output = hbm_.Allocate("output", DType::kBf16, shape, with_data);
  if (with_data)
    output.written.assign((output.bytes + 3) / 4, false);
  args_.output = {"output", DType::kBf16, shape, output.address};

  args_.block_size = options_.block_size;
  args_.activation_function = model.activation;
  args_.clamp = {.gate_upper = model.gate_clamp_upper,
                 .gate_lower = model.gate_clamp_lower,
                 .up_upper = model.up_clamp_upper,
                 .up_lower = model.up_clamp_lower};
  args_.expert_affinities_scaling_mode = ModeOf(model.affinity_scaling);
}

void LayerJob::DryRun(const isa::Limits& limits) {
  kernels::CheckMoeCte(spec(), args_, limits);
  for (int core = 0; core < limits.cores; ++core) {
    DryRunSink sink(core, limits);
    kernels::MoeCte(sink, spec(), args_);
    instructions_ += sink.count();
  }
}

ops::Program LayerJob::program() const {
  return [this](isa::Sink& sink) { kernels::MoeCte(sink, spec(), args_); };
}

inputs::HostTensor LayerJob::Output() {
  const int hidden = tensors_.shape.hidden;
  inputs::HostTensor result =
      inputs::HostTensor::Zeros("output", DType::kBf16, {options_.tokens, hidden});
  const ops::HbmTensor& output = hbm_.Find("output");
  Check(!output.data.empty(), "the run had data");
  const std::int64_t row = output.bytes / (options_.tokens + 1);
  for (int t = 0; t < options_.tokens; ++t)
    std::memcpy(&result.data[std::size_t{2} * t * hidden], &output.data[t * row], hidden * 2);
  return result;
}

double LayerJob::ReferenceWork() const {
  double rows = 0;
  for (const std::int64_t each : layout_.rows_per_expert)
    rows += static_cast<double>(each);
  return rows * 3 * tensors_.shape.hidden_padded * tensors_.shape.intermediate_padded;
}

reference::Comparison LayerJob::Compare() {
  for (const Placed& tensor : placed_)
    tensor.host->data = std::move(tensor.hbm->data);
  const reference::MoeCteResult expected =
      reference::RunMoeCte(ReferenceProblem(options_.model, tensors_, layout_));
  // The reference's rows are padded like the machine's; plane 0 is the result.
  const ops::HbmTensor& output = hbm_.Find("output");
  const std::int64_t row = output.bytes / (options_.tokens + 1);
  std::vector<std::uint16_t> rows(std::size_t{1} * options_.tokens * expected.hidden);
  for (int t = 0; t < options_.tokens; ++t)
    std::memcpy(&rows[std::size_t{1} * t * expected.hidden], &output.data[t * row],
                expected.hidden * 2);
  return reference::Compare(expected, rows.data());
}

}  // namespace bwmm::app
