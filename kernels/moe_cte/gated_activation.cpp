#include "kernels/moe_cte/gated_activation.h"

#include <utility>
#include <vector>

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::Scalar;
using lang::View;

GatedActivation::GatedActivation(lang::Core& nki, const MoeCteArgs& args, DType middle,
                                 std::int64_t columns, bool checkpoint)
    : nki_(nki), args_(args) {
  const ClampLimits& clamp = args.clamp;
  const bool channels =
      args.gate_and_up_bias || (args.gate_up_proj_scale && middle == DType::kFp32);
  if (channels || clamp.gate_upper || clamp.gate_lower)
    clamped_[0] = nki.RotatingSbuf("gate", 2, middle, 128, {columns});
  if (channels || clamp.up_upper || clamp.up_lower)
    clamped_[1] = nki.RotatingSbuf("up", 2, middle, 128, {columns});
  activated_ = nki.RotatingSbuf("activated", 2, DType::kBf16, 128, {columns});
  if (checkpoint) {
    for (lang::RotatingTile& tiles : checkpoint_)
      tiles = nki.RotatingSbuf("gate_up_checkpoint", 2, DType::kBf16, 128, {columns});
  }
}

View GatedActivation::ScaleBiasClamp(const View& buffer, const Input& input,
                                     std::optional<float> upper, std::optional<float> lower,
                                     Engine engine) {
  std::vector<std::pair<AluOp, Scalar>> steps;
  if (input.scale)
    steps.emplace_back(AluOp::kMultiply, *input.scale);
  if (input.bias)
    steps.emplace_back(AluOp::kAdd, *input.bias);
  if (upper)
    steps.emplace_back(AluOp::kMin, *upper);
  if (lower)
    steps.emplace_back(AluOp::kMax, *lower);
  // Two steps per instruction. Rounding in between cannot change the result: a scale is fp32's
  // business alone, and clamping commutes with rounding to nearest.
  View from = input.psum;
  for (std::size_t i = 0; i < steps.size(); i += 2) {
    if (i + 1 < steps.size()) {
      nki_.tensor_scalar(buffer, from, steps[i].first, steps[i].second, steps[i + 1].first,
                         steps[i + 1].second, engine);
    } else {
      nki_.tensor_scalar(buffer, from, steps[i].first, steps[i].second, engine);
    }
    from = buffer;
  }
  return from;
}

View GatedActivation::Part(const lang::RotatingTile& tiles, std::int64_t call,
                           const Inputs& inputs) const {
  const View& like = inputs[0].psum;
  return tiles.count() == 0 ? View()
                            : tiles[call].Slice(0, 0, like.size(0)).Slice(1, 0, like.size(1));
}

void GatedActivation::Apply(const View& inter, const Inputs& inputs) {
  const ClampLimits& clamp = args_.clamp;
  // The gate path stays on the ScalarEngine where that engine can clamp (generation 4 on).
  const Engine gate_engine = nki_.limits().generation >= 4 ? Engine::kScalar : Engine::kVector;
  const View gate = ScaleBiasClamp(Part(clamped_[0], calls_, inputs), inputs[0], clamp.gate_upper,
                                   clamp.gate_lower, gate_engine);
  const View activated = Part(activated_, calls_, inputs);
  nki_.activation(activated, args_.activation_function, gate);
  const View up = ScaleBiasClamp(Part(clamped_[1], calls_, inputs), inputs[1], clamp.up_upper,
                                 clamp.up_lower, Engine::kVector);
  nki_.tensor_tensor(inter, activated, AluOp::kMultiply, up);
  if (checkpoint_[0].count() > 0) {
    nki_.tensor_copy(Part(checkpoint_[0], calls_, inputs), gate, Engine::kScalar);
    nki_.tensor_copy(Part(checkpoint_[1], calls_, inputs), up, Engine::kScalar);
  }
  ++calls_;
}

View GatedActivation::checkpoint(int gate_or_up, const Inputs& inputs) const {
  return Part(checkpoint_[gate_or_up], calls_ - 1, inputs);
}

}  // namespace bwmm::kernels
