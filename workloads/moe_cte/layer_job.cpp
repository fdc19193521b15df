#include "workloads/moe_cte/layer_job.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/moe_cte/reference_problem.h"
#include "model/support/check.h"
#include "model/support/sim_error.h"
#include "workloads/dry_run.h"
#include "workloads/moe_cte/what_fits.h"

namespace bwmm::workloads {
namespace {

using kernels::AffinityScalingMode;
using Variant = kernels::MoECTEImplementation;

// The variant decides the family of weight types, the model the member; a bf16 model on an MX
// variant is quantised to MXFP8.
host::WeightLayout WeightsFor(const LayerJobOptions& options) {
  if (!kernels::IsMx(options.variant)) {
    return options.model.weights == host::WeightLayout::kFp8 ? host::WeightLayout::kFp8
                                                             : host::WeightLayout::kBf16;
  }
  return IsMx(options.model.weights) ? options.model.weights : host::WeightLayout::kMxfp8E4M3;
}

// A core of an I-shard variant has at least one tile of 512.
int LeastMxTiles(const LayerJobOptions& options) {
  return options.variant == Variant::shard_on_block_mx ? 1 : 2;
}

host::LayerTensors BuildLayer(const LayerJobOptions& options, const host::Routing& routing,
                              bool with_data) {
  return host::BuildLayer(options.model, routing, WeightsFor(options), options.seed, with_data,
                          LeastMxTiles(options));
}

AffinityScalingMode ModeOf(host::AffinityScaling scaling) {
  switch (scaling) {
    case host::AffinityScaling::kNoScale:
      return AffinityScalingMode::kNoScale;
    case host::AffinityScaling::kPreScale:
      return AffinityScalingMode::kPreScale;
    case host::AffinityScaling::kPostScale:
      return AffinityScalingMode::kPostScale;
  }
  throw CheckFailure("unknown affinity scaling");
}

// Refuses what no layout of this size can have, before time goes into building it.
void CheckSizes(const LayerJobOptions& options, std::uint64_t hbm_bytes) {
  const host::LayerShape shape = ShapeOf(options.model, WeightsFor(options), LeastMxTiles(options));
  const std::uint64_t row_bytes = std::uint64_t{2} * 2 * shape.hidden_padded;
  const std::uint64_t most = hbm_bytes / row_bytes;
  if (options.tokens > 0 && static_cast<std::uint64_t>(options.tokens) > most) {
    throw SimError("tokens: {}, allowed up to {}: a token has {} bytes and HBM {}", options.tokens,
                   most, row_bytes, hbm_bytes);
  }
}

host::Routing RoutingOf(const LayerJobOptions& options) {
  if (!options.kernel.is_tensor_update_accumulating && options.model.top_k > 1) {
    throw SimError(
        "kernel.is_tensor_update_accumulating=false: top_k is {}, allowed 1, for a token's rows "
        "would overwrite each other",
        options.model.top_k);
  }
  if (options.tokens < 1)
    throw SimError("tokens: {}, allowed 1 or more", options.tokens);
  const host::LayerConfig& model = options.model;
  return options.routing_csv.empty()
             ? host::GenerateRouting(model.RoutingFor(options.tokens, options.seed))
             : host::LoadRoutingCsv(options.routing_csv, options.tokens, model.experts,
                                    model.top_k);
}

host::BlockLayout LayoutOf(const LayerJobOptions& options, const host::Routing& routing,
                           int cores) {
  const bool skip_token = options.kernel.skip_dma.skip_token;
  if (options.variant == Variant::shard_on_i_dropping)
    return host::BuildDroppingLayout(routing, options.kernel.capacity_factor, skip_token,
                                     std::lcm(256, 128 * cores));
  return host::BuildBlockLayout(routing,
                                {.block_size = options.block_size, .skip_token = skip_token});
}

// A plane per core, summed into plane 0.
bool InterleavedPlanes(const LayerJobOptions& options) {
  return options.variant == Variant::shard_on_block && options.kernel.is_tensor_update_accumulating;
}

}  // namespace

LayerJob::LayerJob(const LayerJobOptions& options, int cores)
    : options_(options),
      cores_(cores),
      routing_(RoutingOf(options)),
      layout_(LayoutOf(options, routing_, cores)),
      tensors_(BuildLayer(options, routing_, false)) {}

Fit LayerJob::DryRunOf(const LayerJobOptions& options, const isa::Limits& limits) {
  try {
    LayerJob job(options, limits.cores);
    job.PlaceTensors(false);
    DryRun(job.program(), limits);
  } catch (const lang::DoesNotFit&) {
    return Fit::kBuffersTooLarge;
  } catch (const SimError&) {
    return Fit::kRefused;
  }
  return Fit::kFits;
}

LayerJob::LayerJob(const LayerJobOptions& options, const isa::Limits& limits,
                   std::uint64_t hbm_bytes, bool with_data)
    : LayerJob((CheckSizes(options, hbm_bytes), options), limits.cores) {
  hbm_ = ops::Hbm(hbm_bytes);
  PlaceTensors(false);
  try {
    instructions_ = DryRun(program(), limits);
  } catch (const lang::DoesNotFit& error) {
    throw SimError("{}; {}", error.what(), WhatWouldFit(options, limits));
  }
  if (!with_data)
    return;
  tensors_ = BuildLayer(options, routing_, true);
  hbm_ = ops::Hbm(hbm_bytes);
  placed_.clear();
  PlaceTensors(true);
}

lang::HbmTensor LayerJob::Place(host::HostTensor& tensor, bool with_data) {
  ops::HbmTensor& placed =
      hbm_.Allocate(tensor.name, PlacedType(tensor.dtype), tensor.shape, false);
  // The bytes move to HBM for the run; Compare moves them back for the reference.
  placed.read_only = true;
  if (with_data)
    placed.data = std::move(tensor.data);
  placed_.push_back({&tensor, &placed});
  return {tensor.name, placed.dtype, tensor.shape, placed.address};
}

// Frameworks without x4 types have them as integers.
DType LayerJob::PlacedType(DType type) const {
  if (!options_.kernel.integer_carriers || !IsX4(type))
    return type;
  return SizeOf(type) == 2 ? DType::kUint16 : DType::kUint32;
}

void LayerJob::PlaceTensors(bool with_data) {
  const auto optional = [&](std::optional<host::HostTensor>& tensor) {
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

  PlaceControl();
  PlaceResults(with_data);
  SetOptions();
}

// Control tensors have data at every fidelity.
void LayerJob::PlaceControl() {
  const auto place = [&](host::HostTensor tensor) {
    ops::HbmTensor& placed = hbm_.Allocate(tensor.name, DType::kInt32, {tensor.elements()}, false);
    placed.read_only = true;
    placed.data = std::move(tensor.data);
    return lang::HbmTensor{tensor.name, DType::kInt32, placed.shape, placed.address};
  };
  args_.token_position_to_id = place(layout_.TokenPositionToId());
  args_.block_to_expert = place(layout_.BlockToExpert());
  args_.conditions =
      place(layout_.Conditions(options_.variant == Variant::shard_on_block_mx ? 2 : 1));
}

lang::HbmTensor LayerJob::PlaceResult(const std::string& name, std::vector<std::int64_t> shape,
                                      bool with_data) {
  ops::HbmTensor& placed = hbm_.Allocate(name, DType::kBf16, shape, with_data);
  if (with_data)
    placed.written.assign((placed.bytes + 3) / 4, false);
  return {name, DType::kBf16, std::move(shape), placed.address};
}

void LayerJob::PlaceResults(bool with_data) {
  const std::int64_t h = tensors_.shape.hidden_padded;
  const std::int64_t i = tensors_.shape.intermediate_padded;
  const std::int64_t n = layout_.blocks;
  const std::int64_t b = layout_.block_size;
  const std::int64_t rows = options_.tokens + (options_.kernel.skip_dma.skip_token ? 0 : 1);
  std::vector<std::int64_t> shape = {rows, h};
  if (InterleavedPlanes(options_))
    shape = {rows, cores_, h};
  else if (options_.variant == Variant::shard_on_block_mx)
    shape = {cores_, rows, h};
  const bool one_plane = shape.size() == 2;
  args_.output = PlaceResult("output", std::move(shape), with_data);
  // All cores add the padding slots of a block to row T.
  if (one_plane)
    hbm_.Find("output").padding_from = std::uint64_t{2} * options_.tokens * h;
  const kernels::ShardOnIConfig& config = options_.kernel.shard_on_I;
  if (options_.variant != Variant::shard_on_i_dropping &&
      !(options_.variant == Variant::shard_on_i && config.checkpoint_activation))
    return;
  args_.gate_up_activations_T = PlaceResult("gate_up_activations_T", {n, 2, i, b}, with_data);
  if (!config.expert_affinity_multiply_on_I)
    args_.down_activations = PlaceResult("down_activations", {n, b, h}, with_data);
}

void LayerJob::SetOptions() {
  const host::LayerConfig& model = options_.model;
  args_.skip_dma = options_.kernel.skip_dma;
  args_.is_tensor_update_accumulating = options_.kernel.is_tensor_update_accumulating;
  // Without padding rows the tables end at the last token.
  if (args_.skip_dma.skip_token) {
    args_.hidden_states.shape = {options_.tokens, tensors_.shape.hidden_padded};
    args_.expert_affinities_masked.shape = {std::int64_t{options_.tokens} * model.experts, 1};
  }
  if (args_.gate_up_proj_weight.dtype == DType::kUint32)
    args_.weight_dtype = tensors_.gate_up_weight.dtype;
  args_.used_intermediate = model.intermediate;
  args_.block_size = layout_.block_size;
  args_.activation_function = model.activation;
  args_.clamp = {.gate_upper = model.gate_clamp_upper,
                 .gate_lower = model.gate_clamp_lower,
                 .up_upper = model.up_clamp_upper,
                 .up_lower = model.up_clamp_lower};
  args_.expert_affinities_scaling_mode = ModeOf(model.affinity_scaling);
}

ops::Program LayerJob::program() const {
  return [this](isa::Sink& sink) { Run(sink); };
}

void LayerJob::Run(isa::Sink& sink) const {
  kernels::MoeCte(sink, spec(), args_);
}

const std::byte* LayerJob::ResultRow(int t) {
  const ops::HbmTensor& output = hbm_.Find("output");
  Check(!output.data.empty(), "the run had data");
  const std::int64_t planes = InterleavedPlanes(options_) ? cores_ : 1;
  return output.data.data() + std::int64_t{t} * planes * tensors_.shape.hidden_padded * 2;
}

host::HostTensor LayerJob::Output() {
  const int hidden = tensors_.shape.hidden;
  host::HostTensor result =
      host::HostTensor::Zeros("output", DType::kBf16, {options_.tokens, hidden});
  for (int t = 0; t < options_.tokens; ++t)
    std::memcpy(&result.data[std::size_t{2} * t * hidden], ResultRow(t), hidden * 2);
  return result;
}

std::int64_t LayerJob::rows() const {
  return std::accumulate(layout_.rows_per_expert.begin(), layout_.rows_per_expert.end(),
                         std::int64_t{0});
}

double LayerJob::UsefulWork() const {
  return static_cast<double>(rows()) * 3 * tensors_.shape.hidden * tensors_.shape.intermediate;
}

double LayerJob::ReferenceWork() const {
  return static_cast<double>(rows()) * 3 * tensors_.shape.hidden_padded *
         tensors_.shape.intermediate_padded;
}

reference::MoeCteResult LayerJob::Expected(bool worst_case) {
  for (const Placed& tensor : placed_) {
    if (!tensor.hbm->data.empty())
      tensor.host->data = std::move(tensor.hbm->data);
  }
  reference::MoeCteProblem problem = ReferenceProblem(options_.model, tensors_, layout_);
  problem.split_intermediate =
      options_.variant != Variant::shard_on_block && options_.variant != Variant::shard_on_block_mx;
  problem.cores = cores_;
  problem.affinity_on_i =
      problem.split_intermediate && options_.kernel.shard_on_I.expert_affinity_multiply_on_I;
  problem.worst_case = worst_case;
  return reference::RunMoeCte(problem);
}

reference::Comparison LayerJob::CompareWith(const reference::MoeCteResult& expected) {
  // The reference's rows are padded like the machine's.
  std::vector<std::uint16_t> rows(std::size_t{1} * options_.tokens * expected.hidden);
  for (int t = 0; t < options_.tokens; ++t)
    std::memcpy(&rows[std::size_t{1} * t * expected.hidden], ResultRow(t), expected.hidden * 2);
  reference::Comparison comparison = reference::Compare(expected, rows.data());
  // A comparison of zeros with zeros passes only where zeros are the answer.
  const auto is_zero = [](double value) { return value == 0; };
  if (comparison.failed == reference::Rule::kOnlyZeros && NothingHasWeight() &&
      std::ranges::all_of(expected.output, is_zero)) {
    comparison.failed = reference::Rule::kNone;
    comparison.pass = true;
  }
  return comparison;
}

bool LayerJob::NothingHasWeight() const {
  const auto zero = [](auto value) { return value == 0; };
  return std::ranges::all_of(layout_.rows_per_expert, zero) ||
         std::ranges::all_of(routing_.weight, zero);
}

}  // namespace bwmm::workloads
