#include "kernels/moe_cte/gated_activation.h"

#include <utility>
#include <vector>

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::Scalar;
using lang::View;

GatedActivation::GatedActivation(lang::Core& nki, const MoeCteArgs& args, DType middle,
                                 std::int64_t columns)
    : nki_(nki), args_(args) {
  const ClampLimits& clamp = args.clamp;
  const bool bias = args.gate_and_up_bias.has_value();
  if (bias || clamp.gate_upper || clamp.gate_lower)
    gate_ = nki.RotatingSbuf("gate", 2, middle, 128, {columns});
  if (bias || clamp.up_upper || clamp.up_lower)
    up_ = nki.RotatingSbuf("up", 2, middle, 128, {columns});
  activated_ = nki.RotatingSbuf("activated", 2, DType::kBf16, 128, {columns});
}

View GatedActivation::BiasAndClamp(const View& buffer, const View& source,
                                   const std::optional<View>& bias, std::optional<float> upper,
                                   std::optional<float> lower, Engine engine) {
  std::vector<std::pair<AluOp, Scalar>> steps;
  if (bias)
    steps.emplace_back(AluOp::kAdd, *bias);
  if (upper)
    steps.emplace_back(AluOp::kMin, *upper);
  if (lower)
    steps.emplace_back(AluOp::kMax, *lower);
  // Two steps per instruction. Rounding in between cannot change the result: clamping commutes
  // with rounding to nearest.
  View from = source;
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

void GatedActivation::Apply(const View& inter, const View& gate, const View& up,
                            const std::optional<View>& gate_bias,
                            const std::optional<View>& up_bias) {
  const ClampLimits& clamp = args_.clamp;
  const auto part = [&](const lang::RotatingTile& tiles) {
    return tiles.count() == 0 ? View()
                              : tiles[calls_].Slice(0, 0, gate.size(0)).Slice(1, 0, gate.size(1));
  };
  // The gate path stays on the ScalarEngine where that engine can clamp (generation 4 on).
  const Engine gate_engine = nki_.limits().generation >= 4 ? Engine::kScalar : Engine::kVector;
  const View g =
      BiasAndClamp(part(gate_), gate, gate_bias, clamp.gate_upper, clamp.gate_lower, gate_engine);
  const View activated = part(activated_);
  nki_.activation(activated, args_.activation_function, g);
  const View u =
      BiasAndClamp(part(up_), up, up_bias, clamp.up_upper, clamp.up_lower, Engine::kVector);
  nki_.tensor_tensor(inter, activated, AluOp::kMultiply, u);
  ++calls_;
}

}  // namespace bwmm::kernels
